"""A few static lengths for a corpus: XLA compiles one program for each."""

import numpy as np

_LEVELS = 64  # quantiles that are tried as bucket boundaries
_MULTIPLE = 4  # shapes are rounded up to a multiple of this


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
