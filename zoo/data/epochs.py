"""The order of examples in a training, as buckets of a few shapes or windows: a pure function of (seed, step)."""

from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np

from zoo.text.base import BOS, PAD

_LEVELS = 64  # quantiles that are tried as bucket boundaries
_MULTIPLE = 4  # shapes are rounded up to a multiple of this


class Bucketed(ABC):
    """Batches of a few static shapes; a subclass says what they hold (`assemble`).

    Each example goes to the smallest shape that holds it. A batch never mixes shapes and always has `batch_size`
    examples: the last batch of a shape is filled with examples of length 0 and weight 0. Every example occurs exactly
    once an epoch, and `batch(step)` depends on the seed and the step alone, so a resumed run sees what the
    uninterrupted one would have seen.

    Args:
        lengths: (examples, sides) integers, the positions that each example needs.
        batch_size: examples of every batch.
        num_buckets: upper bound of the number of shapes.
        max_length: examples with more positions on a side are dropped; all are kept by default.
        seed: of the order of examples and batches.
        shuffle: with False every epoch runs in the order of shapes, then of the corpus.

    Attributes:
        shapes: the static shapes, one length a side, ascending.
        dropped: number of examples that `max_length` dropped.
        cut: number of examples of which only the beginning is read; who cuts them says so.
        steps_per_epoch: number of batches that hold every example once.

    Raises:
        ValueError: if no example is left, or a count is not positive.
    """

    cut = 0

    def __init__(
        self,
        lengths: np.ndarray,
        *,
        batch_size: int,
        num_buckets: int = 6,
        max_length: int | None = None,
        seed: int = 0,
        shuffle: bool = True,
    ):
        if batch_size < 1 or num_buckets < 1:
            raise ValueError(f"batch_size and num_buckets must be positive; received {batch_size} and {num_buckets}.")
        self.batch_size, self.seed, self.shuffle = batch_size, seed, shuffle
        fits = np.ones(len(lengths), bool) if max_length is None else np.max(lengths, axis=1, initial=0) <= max_length
        indices = np.flatnonzero(fits)
        self.dropped = len(lengths) - len(indices)
        if not len(indices):
            raise ValueError(
                f"No example is left of {len(lengths)}: {self.dropped} are longer than max_length="
                f"{max_length}. Give at least one example, or raise max_length."
            )
        self.shapes = bucket_shapes(lengths[indices], num_buckets)
        buckets = assign(lengths[indices], self.shapes)
        self._members = [indices[buckets == bucket] for bucket in range(len(self.shapes))]
        self.steps_per_epoch = sum(-(-len(members) // batch_size) for members in self._members)
        self._epoch = (-1, [])  # the epoch last asked for and its plan

    @abstractmethod
    def assemble(self, examples: np.ndarray, shape: tuple[int, ...], step: int) -> dict[str, np.ndarray]:
        """The batch of the examples `examples`, at most `batch_size` of them, padded to `shape` and to `batch_size`."""

    def batch(self, step: int) -> dict[str, np.ndarray]:
        """The batch of a global step >= 0; its epoch is `step // steps_per_epoch`."""
        bucket, examples = self._step(step)
        return self.assemble(examples, self.shapes[bucket], step)

    def longest(self) -> dict[str, np.ndarray]:
        """A batch of the longest shape, all padding: for whoever asks what a step will cost."""
        return self.assemble(np.arange(0), self.shapes[-1], 0)

    def by_shape(self) -> list[tuple[int, dict[str, np.ndarray]]]:
        """How many batches of an epoch have each shape, and one of them, all padding."""
        counts = (-(-len(members) // self.batch_size) for members in self._members)
        padding = (self.assemble(np.arange(0), shape, 0) for shape in self.shapes)
        return list(zip(counts, padding, strict=True))

    def examples(self, step: int) -> np.ndarray:
        """Positions in the corpus of the real examples of a step's batch: (<= batch_size,) integers."""
        return self._step(step)[1]

    def __len__(self) -> int:
        return self.steps_per_epoch

    def __iter__(self) -> Iterator[dict[str, np.ndarray]]:
        """The batches of epoch 0."""
        return (self.batch(step) for step in range(self.steps_per_epoch))

    def _step(self, step: int) -> tuple[int, np.ndarray]:
        _check_step(step)
        epoch, position = divmod(step, self.steps_per_epoch)
        current, plan = self._epoch
        if current != epoch:
            plan = self._plan(epoch)
            self._epoch = (epoch, plan)
        return plan[position]

    def _plan(self, epoch: int) -> list[tuple[int, np.ndarray]]:
        """(bucket, examples) of each step of an epoch."""
        random = np.random.default_rng((self.seed, epoch))
        plan = []
        for bucket, members in enumerate(self._members):
            order = random.permutation(members) if self.shuffle else members
            starts = range(0, len(order), self.batch_size)
            plan += [(bucket, order[start : start + self.batch_size]) for start in starts]
        return [plan[i] for i in random.permutation(len(plan))] if self.shuffle else plan


class Windows:
    """`token_ids` (B, C): BOS and then C - 1 tokens; `labels` (B, C): C tokens; `weights` (B, C) float32.

    If shuffled, the windows of a step begin at random places, drawn from (seed, step) alone. Otherwise they follow each
    other: every token of the text is predicted exactly once an epoch, and the last batch is filled up with weight 0.

    Args:
        ids: token ids of the whole text.
        context: C, the number of tokens of a window.
        batch_size: B, the number of windows of every batch.
        seed: of the places.
        shuffle: random windows, or with False consecutive ones.

    Attributes:
        shapes, dropped, cut: as of `Bucketed`: `[(C,)]`, 0 and 0.
        steps_per_epoch: number of batches that hold as many tokens as the text.

    Raises:
        ValueError: if a count is not positive, or the text is shorter than a window.
    """

    dropped = cut = 0

    def __init__(self, ids: list[int], *, context: int, batch_size: int, seed: int = 0, shuffle: bool = True):
        if context < 1 or batch_size < 1:
            raise ValueError(f"context and batch_size must be positive; received {context} and {batch_size}.")
        if len(ids) < context:
            raise ValueError(
                f"The text has {len(ids)} tokens and is shorter than a window of context={context}: "
                "give more text, or a shorter context."
            )
        self._ids = np.asarray(ids, "int32")
        self.context, self.batch_size, self.seed, self.shuffle = context, batch_size, seed, shuffle
        self.shapes = [(context,)]
        self.steps_per_epoch = -(-len(ids) // (context * batch_size))

    def batch(self, step: int) -> dict[str, np.ndarray]:
        """The batch of a global step >= 0."""
        _check_step(step)
        places = self._starts(step)[:, None] + np.arange(self.context)
        there = places < len(self._ids)
        labels = np.where(there, self._ids[np.minimum(places, len(self._ids) - 1)], PAD)
        begins = np.full((self.batch_size, 1), BOS, "int32")
        return {
            "token_ids": np.concatenate([begins, labels[:, :-1]], axis=1),
            "labels": labels,
            "weights": there.astype("float32"),
        }

    def longest(self) -> dict[str, np.ndarray]:
        """A batch of the only shape: for whoever asks what a step will cost."""
        return self.batch(0)

    def by_shape(self) -> list[tuple[int, dict[str, np.ndarray]]]:
        """How many batches of an epoch have each shape, and one of them: there is one shape."""
        return [(self.steps_per_epoch, self.longest())]

    def _starts(self, step: int) -> np.ndarray:
        """Where each window begins: (batch_size,)."""
        if self.shuffle:
            random = np.random.default_rng((self.seed, step))
            return random.integers(len(self._ids) - self.context + 1, size=self.batch_size)
        first = step % self.steps_per_epoch * self.batch_size
        return (first + np.arange(self.batch_size)) * self.context

    def __len__(self) -> int:
        return self.steps_per_epoch

    def __iter__(self) -> Iterator[dict[str, np.ndarray]]:
        """The batches of epoch 0."""
        return (self.batch(step) for step in range(self.steps_per_epoch))


def _check_step(step: int) -> None:
    """Refuse a negative step."""
    if step < 0:
        raise ValueError(f"step must be at least 0; received {step}.")


def bucket_shapes(lengths: np.ndarray, num_buckets: int) -> list[tuple[int, ...]]:
    """Chooses at most `num_buckets` shapes that waste the fewest padded positions.

    An example has one length a side: `(source, target)` of a pair, or `(length,)` of a text. Candidates are the
    q-quantiles of all sides, rounded up; among them dynamic programming finds the subset with the smallest sum of
    shapes over all examples when each goes to the smallest chosen shape that holds it.

    Args:
        lengths: (examples, sides) integers, at least one example.
        num_buckets: upper bound of the number of shapes.

    Returns:
        Shapes in ascending order on all sides; the last one holds every example.
    """
    levels = np.linspace(0, 1, _LEVELS + 1)[1:]
    quantiles = np.quantile(lengths, levels, axis=0, method="higher").astype(int)
    candidates = np.unique(-(-quantiles // _MULTIPLE) * _MULTIPLE, axis=0)  # (candidates, sides)
    counts = np.bincount(assign(lengths, candidates), minlength=len(candidates))
    candidates, counts = candidates[counts > 0], counts[counts > 0]
    chosen = _cheapest(candidates.sum(axis=1), counts, min(num_buckets, len(counts)))
    return [tuple(map(int, shape)) for shape in candidates[chosen]]


def assign(lengths: np.ndarray, shapes) -> np.ndarray:
    """Index of the smallest shape that holds every side of each example: (examples,) integers."""
    sides = zip(np.asarray(shapes).T, np.asarray(lengths).T, strict=True)
    return np.max([np.searchsorted(shape, length) for shape, length in sides], axis=0)


def _cheapest(sizes: np.ndarray, counts: np.ndarray, num_chosen: int) -> list[int]:
    """Indices of `num_chosen` sizes, the last included, of least cost.

    A count pays the next chosen size: cost(k, j) = min_i cost(k-1, i) + size_j (N_j - N_i), where
    N are cumulated counts, k sizes are chosen and j is the largest of them.
    """
    total = np.cumsum(counts)
    cost = 1.0 * sizes * total  # one size chosen: everything up to it pays it
    previous = []
    for _ in range(num_chosen - 1):
        step = cost[:, None] + sizes * (total - total[:, None])  # (i, j)
        step[np.tril_indices(len(sizes))] = np.inf  # i < j only
        previous.append(step.argmin(axis=0))
        cost = step.min(axis=0)
    chosen = [len(sizes) - 1]
    for best in reversed(previous):
        chosen.append(int(best[chosen[-1]]))
    return chosen[::-1]
