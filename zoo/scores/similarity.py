"""Scores of vectors of texts: how well their cosines order pairs of texts to which people gave numbers.

Spearman's rank correlation is Pearson's of the ranks, where equal numbers share the mean of their ranks. It is what is
reported of semantic textual similarity (Reimers, Beyer and Gurevych 2016, "Task-Oriented Intrinsic Evaluation of
Semantic Textual Similarity", https://aclanthology.org/C16-1009), beside Pearson's of the cosines themselves.
"""

from dataclasses import dataclass, replace

import numpy as np

from zoo.scores.bootstrap import RESAMPLES, Score, check_pairs, frequencies, ratio, report

AT_ONCE = 1024  # texts whose cosines with all others are held
SMALLEST = 1e-12  # of a variance, as a share of the mean square: below it all numbers are equal
UNDEFINED = "all numbers are equal, one is nan, or there is one pair alone"


def cosines(first, second):
    """`u v / (|u| |v|)` of each pair of vectors, 0 where one of them is 0 or empty: (pairs,) float64.

    Example:
        >>> from zoo.scores import cosines
        >>> cosines([[1.0, 1.0], [0.0, 2.0], ()], [[2.0, 2.0], [3.0, 0.0], [1.0, 2.0]]).round(6).tolist()
        [1.0, 0.0, 0.0]
    """
    similarities = np.zeros(len(first))
    for row, (one, other) in enumerate(zip(first, second, strict=True)):
        if len(one) and len(other):
            one, other = np.asarray(one, "float64"), np.asarray(other, "float64")
            length = np.linalg.norm(one) * np.linalg.norm(other)
            similarities[row] = one @ other / length if length else 0.0
    return similarities


@dataclass(frozen=True, eq=False)
class RankCorrelation(Score):
    """Spearman's correlation of `columns`, two arrays of numbers. In each resample the numbers are ranked anew."""

    columns: tuple = ()

    def of(self, times):
        weighted = times[:, :, None] * _products(*(_ranks(column, times) for column in self.columns))
        return _correlation(weighted.sum(axis=1))

    @property
    def total(self):
        return self.of(frequencies(self.rows[None], len(self.statistics)))[0]

    def take(self, examples):
        kinds = np.unique(self.rows[np.asarray(examples, int)])
        return replace(super().take(examples), columns=tuple(column[kinds] for column in self.columns))


def _ranks(column, times):
    """The rank of each number in resamples that have it so many `times`: (resamples, numbers). Equal numbers share the
    mean of their ranks; that of nan is nan."""
    _, group = np.unique(column, return_inverse=True)
    order = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[order], np.arange(group.max() + 1))
    occurrences = np.add.reduceat(times[:, order], starts, axis=1)
    return np.where(np.isnan(column), np.nan, (np.cumsum(occurrences, axis=1) - (occurrences - 1) / 2)[:, group])


def _products(x, y):
    """`[1, x, y, x x, y y, x y]`, whose sums are what a correlation is made of, along a new last axis."""
    return np.stack([np.ones_like(x), x, y, x * x, y * y, x * y], axis=-1)


def _correlation(sums):
    """100 times Pearson's correlation of sums of `_products`; nan where all numbers of a side are equal."""
    sums = np.asarray(sums, "float64")
    count, x, y, xx, yy, xy = (sums[:, place] / sums[:, 0] for place in range(6))
    spread = [
        np.where(square - mean**2 > SMALLEST * square, square - mean**2, 0.0) for square, mean in ((xx, x), (yy, y))
    ]
    spreads = np.sqrt(spread[0] * spread[1])
    correlations = np.divide(100 * (xy - x * y), spreads, out=np.full(len(sums), np.nan), where=spreads > 0)
    return np.clip(correlations, -100, 100)


def similarity_scores(outputs, references):
    """The `Score`s of `similarity`, the one that is compared first leading."""
    check_pairs(outputs, references)
    columns = tuple(np.array([float(each) for each in side]) for side in (outputs, references))
    ranks = (_ranks(column, np.ones((1, len(column))))[0] for column in columns)
    centred = (column - column.mean() for column in columns)  # so that rounding does not count
    return [
        RankCorrelation("spearman", _products(*ranks), _correlation, undefined=UNDEFINED, columns=columns),
        Score("pearson", _products(*centred), _correlation, undefined=UNDEFINED),
    ]


def partner_ranks(first, second):
    """The rank of `second[i]` among all of `second` by its cosine with `first[i]`, 1 for the nearest: a list of ints.

    Of equal cosines half count as nearer, so that vectors that are all the same find nobody; nan is below all others.

    Example:
        >>> from zoo.scores import partner_ranks
        >>> partner_ranks([[1.0, 0.0], [0.0, 1.0]], [[3.0, 0.1], [2.0, 0.0]])
        [2, 2]
    """
    units = max((len(vector) for side in (first, second) for vector in side), default=0)
    rows = [
        np.array([vector if len(vector) else [0.0] * units for vector in side], "float64") for side in (first, second)
    ]
    one, other = (each / np.maximum(np.linalg.norm(each, axis=-1, keepdims=True), SMALLEST) for each in rows)
    ranks = []
    for start in range(0, len(one), AT_ONCE):
        cosines = np.nan_to_num(np.round(one[start : start + AT_ONCE] @ other.T, 6), nan=-2.0)
        own = cosines[np.arange(len(cosines)), start + np.arange(len(cosines))][:, None]
        ranks += ((cosines > own).sum(axis=1) + ((cosines == own).sum(axis=1) - 1) // 2 + 1).tolist()
    return ranks


def partner_scores(outputs, references):
    """The `Score`s of `partners`, the one that is compared first leading."""
    check_pairs(outputs, references)
    ranks = np.array([float(each) for each in outputs])
    return [
        Score("accuracy", np.stack([ranks == 1, np.ones_like(ranks)], axis=1), ratio(100)),
        Score("mrr", np.stack([1 / ranks, np.ones_like(ranks)], axis=1), ratio(100)),
    ]


def partners(outputs, references, *, resamples=RESAMPLES, seed=0):
    """How well texts find their partners.

    Args:
        outputs: the rank of each partner, 1 for the nearest text, see `partner_ranks`; numbers or strings of them.
        references: as many values, which are not used.
        resamples, seed: of the bootstrap.

    Returns:
        A dict with `count` (also as `sentences`), `accuracy`, the share of partners that are the nearest, and `mrr`,
        the mean of 1 / rank, both times 100, with their intervals at 95 %.

    Example:
        >>> from zoo.scores import partners
        >>> scores = partners([1, 2, 1, 4], ["1"] * 4)
        >>> scores["accuracy"], scores["mrr"]
        (50.0, 68.75)
    """
    scores, count = partner_scores(outputs, references), len(references)
    return {"count": count, "sentences": count, **report(scores, resamples, seed)}


def rating_scores(outputs, references):
    """The `Score`s of `rating`, the one that is compared first leading."""
    correlations = similarity_scores(outputs, references)
    errors = [[abs(float(one) - float(other)), 1.0] for one, other in zip(outputs, references, strict=True)]
    return [Score("mae", errors, ratio(), higher_is_better=False), *correlations]


def rating(outputs, references, *, resamples=RESAMPLES, seed=0):
    """How far numbers are from the right ones, and how well they correlate with them.

    Args: as of `similarity`, and the numbers are of the same unit.

    Returns:
        A dict with `count` (also as `sentences`), `mae`, the mean absolute error, and `spearman` and `pearson`,
        correlations times 100, with their intervals at 95 %.

    Example:
        >>> from zoo.scores import rating
        >>> scores = rating([1.5, 4.0, 3.0, 2.0], [1, 5, 2, 2])
        >>> scores["mae"], round(scores["pearson"], 1)
        (0.625, 91.1)
    """
    scores, count = rating_scores(outputs, references), len(references)
    return {"count": count, "sentences": count, **report(scores, resamples, seed)}


def similarity(outputs, references, *, resamples=RESAMPLES, seed=0):
    """How well similarities of pairs of texts agree with numbers that people gave them.

    Args:
        outputs: the similarity of each pair, numbers or strings of them.
        references: the right numbers, on any scale.
        resamples: of the bootstrap.
        seed: of the bootstrap.

    Returns:
        A dict with `count` (also as `sentences`), and `spearman` and `pearson`, correlations times 100, with their
        intervals at 95 %.

    Example:
        >>> from zoo.scores import similarity
        >>> round(similarity([0.1, 0.9, 0.3, 0.5], [1, 5, 2, 2])["spearman"], 1)
        94.9
    """
    scores, count = similarity_scores(outputs, references), len(references)
    return {"count": count, "sentences": count, **report(scores, resamples, seed)}
