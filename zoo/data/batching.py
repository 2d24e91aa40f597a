"""Padding, and the batches of a parallel corpus."""

import numpy as np

from zoo.data.epochs import Bucketed
from zoo.text.special import AROUND, BOS, PAD, Around


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


class Batches(Bucketed):
    """Teacher-forcing batches of a parallel corpus, in static shapes `(S, T)`.

    A pair takes as many positions as its source and its target have with what stands around them.

    A batch has source_ids (B, S) int32, source_lengths (B,) int32, target_ids (B, T) int32 (BOS first), labels (B, T)
    int32 (EOS last, as around every text) and weights (B, T) float32, 1 on labels and 0 elsewhere.

    Args:
        sources: token ids of each source, without special ids.
        targets: token ids of each target, without special ids.
        around: the ids before and behind every source, and every target.
        **plan: `batch_size` and the other settings of `Bucketed`.

    Raises:
        ValueError: if the sides differ in number, no pair is left, or a count is not positive.
    """

    def __init__(
        self,
        sources: list[list[int]],
        targets: list[list[int]],
        *,
        around: tuple[Around, Around] = (AROUND, AROUND),
        **plan,
    ):
        if len(sources) != len(targets):
            raise ValueError(
                f"Expected as many targets as sources; received {len(sources)} sources and {len(targets)} targets."
            )
        sizes = [each.size for each in around]
        self._sources, self._targets, self._around = sources, targets, around
        lengths = [
            [len(side) + size for side, size in zip(pair, sizes, strict=True)]
            for pair in zip(sources, targets, strict=True)
        ]
        super().__init__(np.array(lengths, int).reshape(-1, 2), **plan)

    def assemble(self, examples, shape, step):
        source_length, target_length = shape
        fill = [[]] * (self.batch_size - len(examples))
        source, target = self._around
        sources = [source.put(self._sources[example]) for example in examples]
        targets = [target.put(self._targets[example]) for example in examples]
        source_ids, source_lengths = pad(sources + fill, source_length)
        target_ids, lengths = pad([[BOS, *ids][: len(ids)] for ids in targets] + fill, target_length)
        labels, _ = pad(targets + fill, target_length)
        weights = np.arange(target_length) < lengths[:, None]
        return {
            "source_ids": source_ids,
            "source_lengths": source_lengths,
            "target_ids": target_ids,
            "labels": labels,
            "weights": weights.astype("float32"),
        }
