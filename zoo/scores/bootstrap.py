"""Scores as functions of sums over the examples, their bootstrap intervals, and the paired bootstrap of two systems.

Accuracy, BLEU, entity F1 and bits per byte have one form: every example has a few numbers (its sufficient statistics),
the numbers are added up, and a function of the sums is the score. A bootstrap draws as many examples as there are, with
replacement, 1,000 times, and the spread of the score over these resamples is its interval. It needs no example twice: a
resample is a weighted sum. Efron and Tibshirani (1993), "An Introduction to the Bootstrap"; for the paired test Koehn
(2004), "Statistical Significance Tests for Machine Translation Evaluation".
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

RESAMPLES = 1000
COVERAGE = 0.95  # share of the resamples that lie within an interval
DRAWS = 2**18  # examples that are drawn at a time, which bounds the memory


@dataclass(frozen=True, eq=False)
class Score:
    """A score of a test set, kept as the numbers of its examples.

    Args:
        name: such as "bleu".
        statistics: (examples, k) float64; or (kinds, k) where many examples have the same numbers.
        value: a function of sums (m, k) that gives the scores (m,); nan where the sums allow none.
        kind_of: (examples,) integers, the row of `statistics` of each example; by default each has its own.
        higher_is_better: False for errors.
        signature: the other choices, in the form of the library that defines the score.
        undefined: the reason why the score is nan, in words.

    Example:
        >>> import numpy as np
        >>> from zoo.scores import Score
        >>> right = np.array([[1, 1], [0, 1], [1, 1], [1, 1]])
        >>> float(Score("accuracy", right, lambda sums: 100 * sums[:, 0] / sums[:, 1]).total)
        75.0
    """

    name: str
    statistics: np.ndarray
    value: Callable
    kind_of: np.ndarray | None = None
    higher_is_better: bool = True
    signature: str = ""
    undefined: str = "there is nothing to divide by"

    def __post_init__(self):
        object.__setattr__(self, "statistics", np.asarray(self.statistics, "float64"))
        if self.statistics.ndim != 2 or not self.count:
            raise ValueError(
                f"The score {self.name} needs the statistics of at least one example, an array (examples, k); "
                f"received one of shape {self.statistics.shape}."
            )

    @property
    def count(self):
        """Number of examples."""
        return len(self.statistics if self.kind_of is None else self.kind_of)

    @property
    def sums(self):
        """The sums of all examples: (1, k)."""
        return self.statistics[self.rows].sum(axis=0, keepdims=True)

    @property
    def total(self):
        """The score of all examples."""
        return self.value(self.sums)[0]

    def of(self, times):
        """The scores of resamples; `times (resamples, rows)` says how often each has each row of `statistics`."""
        return self.value(times @ self.statistics)

    @property
    def rows(self):
        """The row of `statistics` of each example."""
        return np.arange(self.count) if self.kind_of is None else self.kind_of

    def take(self, examples):
        """The same score of some of the examples, given by their numbers; of `statistics` it keeps their rows alone."""
        kinds, kind_of = np.unique(self.rows[np.asarray(examples, int)], return_inverse=True)
        return replace(self, statistics=self.statistics[kinds], kind_of=kind_of)


def ratio(factor=1.0):
    """The value `factor * first sum / second sum`, nan where the second is 0."""

    def value(sums):
        return np.divide(factor * sums[:, 0], sums[:, 1], out=np.full(len(sums), np.nan), where=sums[:, 1] != 0)

    return value


def bootstrap_replicates(scores, resamples=RESAMPLES, seed=0):
    """Values of scores of the same examples on the same resamples: a list of arrays (resamples,).

    The resamples depend only on the number of examples and the seed, so that two systems are compared on the same ones.
    """
    count = scores[0].count
    if any(score.count != count for score in scores):
        raise ValueError(
            "Scores are resampled together where they are of the same examples; received "
            + ", ".join(f"{score.name} of {score.count}" for score in scores)
            + "."
        )
    generator = np.random.default_rng(seed)
    values = [[] for _ in scores]
    at_once = max(1, DRAWS // count)
    for start in range(0, resamples, at_once):
        part = slice(start, min(start + at_once, resamples))
        drawn = generator.integers(count, size=(part.stop - start, count), dtype="int32")
        times = {}  # of each kind in each resample, for the scores of a task that have the same kinds
        for score, drawn_values in zip(scores, values, strict=True):
            key = id(score.kind_of), len(score.statistics)
            if key not in times:
                times[key] = frequencies(drawn if score.kind_of is None else score.kind_of[drawn], key[1])
            drawn_values.append(score.of(times[key]))
    return [np.concatenate(drawn_values) for drawn_values in values]


def frequencies(drawn, kinds):
    """How often each kind occurs in each row: (rows, kinds)."""
    rows = len(drawn)
    flat = drawn + kinds * np.arange(rows)[:, None]
    return np.bincount(flat.ravel(), minlength=rows * kinds).reshape(rows, kinds).astype("float64")


def interval(values, total=None):
    """[low, high], between which the middle 95 % of the finite values lie; `total` twice if no value is finite."""
    tail, finite = (1 - COVERAGE) / 2, values[np.isfinite(values)]
    bounds = np.quantile(finite, [tail, 1 - tail]) if finite.size else [np.nan if total is None else total] * 2
    return [float(bound) for bound in bounds]


def report(scores, resamples=RESAMPLES, seed=0):
    """{NAME: score, NAME_interval: [low, high], NAME_signature: ...} of scores of the same examples.

    A score that is no finite number is left out, and `missing` says why: {NAME: reason}. All numbers are finite.
    """
    result, reasons = {}, {}
    for score, values in zip(scores, bootstrap_replicates(scores, resamples, seed), strict=True):
        total = float(score.total)
        if not np.isfinite(total):
            reasons[score.name] = score.undefined if np.isnan(total) else "it is infinite"
            continue
        result |= {score.name: total, f"{score.name}_interval": interval(values, total)}
        if score.signature:
            result[f"{score.name}_signature"] = score.signature
    return result | ({"missing": reasons} if reasons else {})


def paired_bootstrap(first, second, resamples=RESAMPLES, seed=0):
    """The paired bootstrap of a score of two systems on the same examples.

    The p-value is the share of the resamples whose difference lies at least as far from the measured difference as 0
    does: how often the choice of the examples alone would show so large a difference if there were none.

    Returns:
        {"a", "b": the two scores, "difference": b - a, "difference_interval", "p_value": two-sided, "better": "a", "b"
        or, where they are equal, ""}.
    """
    return paired_bootstraps([(first, second)], resamples, seed)[0]


def paired_bootstraps(pairs, resamples=RESAMPLES, seed=0):
    """`paired_bootstrap` of each pair of scores, all of them of the same examples, on the same resamples."""
    values = bootstrap_replicates([score for pair in pairs for score in pair], resamples, seed)
    return [_verdict(*pair, *values[2 * place : 2 * place + 2]) for place, pair in enumerate(pairs)]


def _verdict(first, second, first_values, second_values):
    a, b = float(first.total), float(second.total)
    differences = (second_values - first_values)[np.isfinite(second_values) & np.isfinite(first_values)]
    # A resample's sums are exact, its score is rounded: an equal difference must not count as a smaller one.
    as_far = np.abs(differences - (b - a)) >= abs(b - a) * (1 - 1e-9)
    return {
        "a": a,
        "b": b,
        "difference": b - a,
        "difference_interval": interval(differences, b - a),
        "p_value": float((1 + as_far.sum()) / (1 + len(differences))),
        "better": "" if a == b else "b" if (b > a) is first.higher_is_better else "a",
    }


def influence_on_difference(first, second):
    """The influence of each example on the difference b - a.

    It is half of what the difference would lose if the two systems swapped their outputs for this example. So the
    influences on a mean, such as accuracy, sum to the difference. The statistics of both scores must mean the same,
    column by column.

    Returns:
        (examples,) float64; 0 where the statistics are equal.
    """
    change = second.statistics[second.rows] - first.statistics[first.rows]
    gain = first.value(first.sums + change) - first.total
    loss = second.total - second.value(second.sums - change)
    return np.nan_to_num((gain + loss) / 2, posinf=0.0, neginf=0.0)


def check_pairs(outputs, references):
    """Refuse outputs that are not one for each reference."""
    if len(outputs) != len(references) or not len(references):
        raise ValueError(
            "Expected as many outputs as references, and at least one; received "
            f"{len(outputs)} outputs and {len(references)} references. Score the outputs with the references of the "
            "split from which they were made."
        )
