"""Length-bucketed batches of token ids: static shapes, and a pure function of (seed, step)."""

from collections.abc import Iterator

import numpy as np

from zoo.data.buckets import assign, bucket_shapes
from zoo.text.special import BOS, EOS, PAD


def pad(sequences: list[list[int]], length: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Pads sequences on the right with PAD.

    Args:
        sequences: token ids, any lengths.
        length: length of the result; the longest sequence's by default.

    Returns:
        token_ids (batch, length) int32 and lengths (batch,) int32.

    Raises:
        ValueError: if a sequence is longer than `length`.
    """
    lengths = np.array([len(sequence) for sequence in sequences], "int32")
    longest = int(lengths.max(initial=0))
    if length is not None and longest > length:
        raise ValueError(f"A sequence of {longest} tokens does not fit a length of {length}.")
    token_ids = np.full((len(sequences), longest if length is None else length), PAD, "int32")
    for row, sequence in zip(token_ids, sequences, strict=True):
        row[: len(sequence)] = sequence
    return token_ids, lengths


class Batches:
    """Teacher-forcing batches of a parallel corpus.

    Pairs are grouped into a few static shapes `(S, T)`; each goes to the smallest that holds the
    source with EOS and the target with BOS. A batch never mixes shapes and always has `batch_size`
    rows: the last batch of a shape is filled with rows of length 0 and weight 0. Every pair occurs
    exactly once an epoch, and `batch(step)` depends on the seed and the step alone, so a resumed
    run sees what the uninterrupted one would have seen.

    Args:
        sources: token ids of each source, without special ids.
        targets: token ids of each target, without special ids.
        batch_size: rows of every batch.
        num_buckets: upper bound of the number of shapes.
        max_length: pairs with more tokens on a side, EOS or BOS included, are dropped; all are kept
            by default.
        seed: of the order of pairs and batches.
        shuffle: with False every epoch runs in the order of shapes, then of the corpus.

    Attributes:
        shapes: the static shapes (S, T), ascending.
        dropped: number of pairs that `max_length` dropped.
        steps_per_epoch: number of batches that hold every pair once.

    Raises:
        ValueError: if the sides differ in number, no pair is left, or a count is not positive.
    """

    def __init__(
        self,
        sources: list[list[int]],
        targets: list[list[int]],
        *,
        batch_size: int,
        num_buckets: int = 6,
        max_length: int | None = None,
        seed: int = 0,
        shuffle: bool = True,
    ):
        if len(sources) != len(targets):
            raise ValueError(
                f"Expected as many targets as sources; received {len(sources)} sources and {len(targets)} targets."
            )
        if batch_size < 1 or num_buckets < 1:
            raise ValueError(f"batch_size and num_buckets must be positive; received {batch_size} and {num_buckets}.")
        self.batch_size, self.seed, self.shuffle = batch_size, seed, shuffle
        self._sources, self._targets = sources, targets
        source_lengths = np.array([len(source) + 1 for source in sources], int)
        target_lengths = np.array([len(target) + 1 for target in targets], int)
        longest = np.maximum(source_lengths, target_lengths)
        kept = np.arange(len(sources)) if max_length is None else np.where(longest <= max_length)[0]
        self.dropped = len(sources) - len(kept)
        if not len(kept):
            raise ValueError(
                f"No pair is left of {len(sources)}: {self.dropped} are longer than max_length="
                f"{max_length}. Give at least one pair, or raise max_length."
            )
        source_lengths, target_lengths = source_lengths[kept], target_lengths[kept]
        self.shapes = bucket_shapes(source_lengths, target_lengths, num_buckets)
        buckets = assign(source_lengths, target_lengths, self.shapes)
        self._members = [kept[buckets == bucket] for bucket in range(len(self.shapes))]
        self.steps_per_epoch = sum(-(-len(members) // batch_size) for members in self._members)
        self._epoch = (-1, [])  # the epoch last asked for and its plan

    def batch(self, step: int) -> dict[str, np.ndarray]:
        """The batch of a global step >= 0; its epoch is `step // steps_per_epoch`.

        Returns:
            source_ids (B, S) int32, source_lengths (B,) int32, target_ids (B, T) int32 (BOS first),
            labels (B, T) int32 (EOS last) and weights (B, T) float32, 1 on labels and 0 elsewhere.
        """
        bucket, rows = self._step(step)
        source_length, target_length = self.shapes[bucket]
        fill = [[]] * (self.batch_size - len(rows))
        sources = [self._sources[row] + [EOS] for row in rows]
        targets = [self._targets[row] for row in rows]
        source_ids, source_lengths = pad(sources + fill, source_length)
        target_ids, lengths = pad([[BOS] + target for target in targets] + fill, target_length)
        labels, _ = pad([target + [EOS] for target in targets] + fill, target_length)
        weights = np.arange(target_length) < lengths[:, None]
        return {
            "source_ids": source_ids,
            "source_lengths": source_lengths,
            "target_ids": target_ids,
            "labels": labels,
            "weights": weights.astype("float32"),
        }

    def rows(self, step: int) -> np.ndarray:
        """Positions in the corpus of the real rows of a step's batch: (<= batch_size,) integers."""
        return self._step(step)[1]

    def __len__(self) -> int:
        return self.steps_per_epoch

    def __iter__(self) -> Iterator[dict[str, np.ndarray]]:
        """The batches of epoch 0."""
        return (self.batch(step) for step in range(self.steps_per_epoch))

    def _step(self, step: int) -> tuple[int, np.ndarray]:
        if step < 0:
            raise ValueError(f"step must be at least 0; received {step}.")
        epoch, position = divmod(step, self.steps_per_epoch)
        planned, plan = self._epoch
        if planned != epoch:
            plan = self._plan(epoch)
            self._epoch = (epoch, plan)
        return plan[position]

    def _plan(self, epoch: int) -> list[tuple[int, np.ndarray]]:
        """(bucket, rows) of each step of an epoch."""
        random = np.random.default_rng((self.seed, epoch))
        plan = []
        for bucket, members in enumerate(self._members):
            order = random.permutation(members) if self.shuffle else members
            starts = range(0, len(order), self.batch_size)
            plan += [(bucket, order[start : start + self.batch_size]) for start in starts]
        return [plan[i] for i in random.permutation(len(plan))] if self.shuffle else plan
