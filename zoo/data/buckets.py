"""A few static (source, target) lengths for a corpus: XLA compiles one program for each."""

import numpy as np

_LEVELS = 64  # quantiles that are tried as bucket boundaries
_MULTIPLE = 4  # shapes are rounded up to a multiple of this


def bucket_shapes(source_lengths: np.ndarray, target_lengths: np.ndarray, num_buckets: int) -> list[tuple[int, int]]:
    """Chooses at most `num_buckets` shapes (S, T) that waste the fewest padded positions.

    Candidates are the pairs (q-quantile of source lengths, q-quantile of target lengths), rounded
    up; among them dynamic programming finds the subset with the smallest sum of S + T over all
    pairs when each goes to the smallest chosen shape that holds it.

    Args:
        source_lengths: (pairs,) integers, at least one pair.
        target_lengths: (pairs,) integers.
        num_buckets: upper bound of the number of shapes.

    Returns:
        Shapes in ascending order on both sides; the last one holds every pair.
    """
    levels = np.linspace(0, 1, _LEVELS + 1)[1:]
    sides = [np.quantile(lengths, levels, method="higher") for lengths in (source_lengths, target_lengths)]
    rounded = [-(-side.astype(int) // _MULTIPLE) * _MULTIPLE for side in sides]
    candidates = np.unique(np.stack(rounded, axis=1), axis=0)  # (candidates, 2)
    counts = np.bincount(assign(source_lengths, target_lengths, candidates), minlength=len(candidates))
    candidates, counts = candidates[counts > 0], counts[counts > 0]
    chosen = _cheapest(candidates.sum(axis=1), counts, min(num_buckets, len(counts)))
    return [(int(s), int(t)) for s, t in candidates[chosen]]


def assign(source_lengths: np.ndarray, target_lengths: np.ndarray, shapes) -> np.ndarray:
    """Index of the smallest shape that holds both sides of each pair: (pairs,) integers."""
    shapes = np.asarray(shapes)
    return np.maximum(np.searchsorted(shapes[:, 0], source_lengths), np.searchsorted(shapes[:, 1], target_lengths))


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
