"""Scores of a classifier: accuracy, macro F1, and which labels it takes for which.

Accuracy is the share of right labels. F1 of a label is 2 tp / (2 tp + fp + fn), and macro F1 is the mean of F1 over the
labels, so that a rare label counts as much as a frequent one. It is the "averaged F1" of Opitz and Burst (2019), "Macro
F1 and Macro F1", and scikit-learn's `f1_score(average="macro")`.
"""

import numpy as np

from zoo.scores.bootstrap import RESAMPLES, Score, check_pairs, ratio, report


def classification_scores(outputs, references):
    """The `Score`s of `classification`, the one that is compared first leading."""
    check_pairs(outputs, references)
    names, codes = _codes(outputs, references)
    kinds, kind_of = np.unique(codes, axis=1, return_inverse=True)  # of (output, reference)
    kind_of, (ours, true) = kind_of.reshape(-1), kinds
    each = np.eye(len(names))
    right = ours == true
    accuracy = np.stack([right, np.ones(len(right))], axis=1)
    counts = np.concatenate([each[true] * right[:, None], each[ours], each[true]], axis=1)
    return [
        Score("accuracy", accuracy, ratio(100), kind_of),
        Score("macro_f1", counts, _macro_f1, kind_of),
    ]


def _macro_f1(sums):
    right, ours, true = np.split(sums, 3, axis=1)
    occurrences = ours + true
    f1 = np.divide(200 * right, occurrences, out=np.zeros_like(occurrences), where=occurrences > 0)
    return f1.sum(axis=1) / (occurrences > 0).sum(axis=1)


def classification(outputs, references, labels=None, *, resamples=RESAMPLES, seed=0):
    """How good labels are.

    Args:
        outputs: list of strings.
        references: list of strings, one for each output.
        labels: the order of the labels in `by_label`; by default the alphabet's. Those that occur and are not named
            follow behind.
        resamples: of the bootstrap.
        seed: of the bootstrap.

    Returns:
        A dict with `count` (also as `sentences` and `labels`), the percentages `accuracy` and `macro_f1` with their
        intervals at 95 %, and `by_label`, a list of {"label", "count", "precision", "recall", "f1"}: percentages, and
        0 where there is nothing to divide by. Macro F1 is over the labels that occur in the outputs or the references,
        and in a resample over those that occur there.

    Example:
        >>> from zoo.scores import classification
        >>> scores = classification(["yes", "no", "no"], ["yes", "no", "yes"])
        >>> round(scores["accuracy"], 1), round(scores["macro_f1"], 1)
        (66.7, 66.7)
    """
    scores, count = classification_scores(outputs, references), len(references)
    names, matrix = confusion(outputs, references, labels)
    return {
        "count": count,
        "sentences": count,
        "labels": count,
        **report(scores, resamples, seed),
        "by_label": rows_of_f1(names, np.diag(matrix), matrix.sum(axis=0), matrix.sum(axis=1)),
    }


def rows_of_f1(names, right, predicted, true, name="label"):
    """[{NAME, "count", "precision", "recall", "f1"}], percentages, of counts for each name."""
    rows = []
    for each, hits, ours, theirs in zip(
        names, *(np.asarray(each, float) for each in (right, predicted, true)), strict=True
    ):
        rows.append(
            {
                name: each,
                "count": int(theirs),
                "precision": float(100 * hits / ours) if ours else 0.0,
                "recall": float(100 * hits / theirs) if theirs else 0.0,
                "f1": float(200 * hits / (ours + theirs)) if ours + theirs else 0.0,
            }
        )
    return rows


def confusion(outputs, references, labels=None):
    """The labels, and how often each was taken for each: (references, outputs) integers.

    Example:
        >>> from zoo.scores import confusion
        >>> confusion(["yes", "no", "no"], ["yes", "no", "yes"])[1].tolist()
        [[1, 0], [1, 1]]
    """
    check_pairs(outputs, references)
    names, (ours, true) = _codes(outputs, references, labels)
    size = len(names)
    return names, np.bincount(size * true + ours, minlength=size * size).reshape(size, size)


def _codes(outputs, references, labels=None):
    """The labels, and the number of each output and of each reference: (2, examples)."""
    occurring = sorted({*outputs, *references})
    names = list(dict.fromkeys([*(labels or ()), *occurring]))
    number = {name: code for code, name in enumerate(names)}
    return names, np.array([[number[label] for label in side] for side in (outputs, references)])
