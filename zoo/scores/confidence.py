"""What confidences are worth: of answers with one of .8 eight of ten should be right, and low ones are out of scope.

A network that was trained long is surer than it should be. Its logits `z` are divided by a temperature `T`, with which
the validation labels are likeliest, `min_T -mean log softmax(z / T)[y]`; no answer changes by it. This is temperature
scaling of Guo et al. (2017), "On Calibration of Modern Neural Networks". So that a validation without a mistake does
not ask for certainty, its labels are smoothed by 1 / (n + 2) as in Platt (1999), "Probabilistic Outputs for Support
Vector Machines".
"""

import numpy as np

from zoo.scores.bootstrap import RESAMPLES, Score, check_pairs, ratio, report

BINS = 15  # of confidences, as in Guo et al.
SHARPEST, FLATTEST = 20.0, 0.05  # the bounds of 1 / T
HALVINGS = 60
LABEL = "oos"  # as CLINC150 writes it


def fit_temperature(logits, labels):
    """The temperature with which the labels are likeliest.

    Args:
        logits: (examples, classes).
        labels: (examples,), the class of each.

    Returns:
        A float from 0.05 to 20; above 1 where the logits are too sure.

    Raises:
        ValueError: there is no example, or another number of labels than of logits.

    Example:
        >>> import numpy as np
        >>> from zoo.scores import fit_temperature
        >>> sure = np.tile([[4.0, 0.0]], (100, 1))  # says .98, and is right in 73 of 100
        >>> round(fit_temperature(sure, np.arange(100) >= 73), 1)
        4.1
    """
    logits, labels = np.asarray(logits, float), np.asarray(labels, int)
    if logits.ndim != 2 or labels.shape != logits.shape[:1] or not len(labels):
        raise ValueError(
            f"Expected logits (examples, classes) and a label for each example; received the shapes {logits.shape} and "
            f"{labels.shape}."
        )
    smoothing = 1 / (len(labels) + 2)
    own = np.take_along_axis(logits, labels[:, None], axis=1)[:, 0]
    target = (1 - smoothing) * own.mean() + smoothing * logits.mean()

    def rises(scale):
        """Whether the loss, which is convex in 1 / T, rises at this scale: its slope is mean(E_p[z]) - wanted."""
        return (softmax(scale * logits) * logits).sum(axis=1).mean() > target

    low, high = FLATTEST, SHARPEST
    for _ in range(HALVINGS):
        middle = np.sqrt(low * high)
        low, high = (low, middle) if rises(middle) else (middle, high)
    return float(1 / np.sqrt(low * high))


def softmax(logits):
    """Probabilities along the last axis."""
    exponentials = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def reliability(confidences, right, bins=BINS):
    """The bins of a reliability diagram: equally wide ranges of confidences, without empty ones.

    Args:
        confidences: numbers from 0 to 1, (examples,).
        right: whether each answer is right.
        bins: their number.

    Returns:
        A list of {"confidence": the mean, "accuracy": the share that is right, "count"}.

    Example:
        >>> from zoo.scores import reliability
        >>> reliability([0.9, 0.9, 0.2], [True, False, False], bins=2)
        [{'confidence': 0.2, 'accuracy': 0.0, 'count': 1}, {'confidence': 0.9, 'accuracy': 0.5, 'count': 2}]
    """
    confidences, right = np.asarray(confidences, float), np.asarray(right, float)
    places = np.minimum((confidences * bins).astype(int), bins - 1)
    return [
        {
            "confidence": float(confidences[places == place].mean()),
            "accuracy": float(right[places == place].mean()),
            "count": int((places == place).sum()),
        }
        for place in np.unique(places)
    ]


def calibration_error(confidences, right, bins=BINS):
    """The expected calibration error: `sum_b n_b / n |accuracy_b - confidence_b|` over the bins of `reliability`.

    Args: as of `reliability`.

    Example:
        >>> from zoo.scores import calibration_error
        >>> round(calibration_error([0.9, 0.9, 0.2], [True, False, False], bins=2), 3)
        0.333
    """
    rows = reliability(confidences, right, bins)
    total = sum(each["count"] for each in rows)
    return sum(each["count"] * abs(each["accuracy"] - each["confidence"]) for each in rows) / total if total else 0.0


def out_of_scope_scores(outputs, references, label=LABEL):
    """The `Score`s of `out_of_scope`, the one that is compared first leading."""
    check_pairs(outputs, references)
    ours, true = (np.array([one == label for one in side]) for side in (outputs, references))
    if true.all() or not true.any():
        raise ValueError(
            f"Expected some references in scope and some out of scope, labelled {label!r}; received {true.sum()} out "
            f"of scope among {len(true)}. Join the files of both, or pass the label of yours that are out of scope."
        )
    right = np.array([one == other for one, other in zip(outputs, references, strict=True)])
    ones = np.ones(len(right))
    parts = {
        "out_of_scope_recall": (ours & true, true),
        "in_scope_accuracy": (right & ~true, ~true),
        "out_of_scope_precision": (ours & true, ours),
        "accuracy": (right, ones),
    }
    none = "no output is out of scope"
    return [Score(name, np.stack(part, axis=1), ratio(100), undefined=none) for name, part in parts.items()]


def out_of_scope(outputs, references, confidences=None, threshold=None, label=LABEL, *, resamples=RESAMPLES, seed=0):
    """How well a classifier knows what it does not know: which texts lie out of its scope.

    Larson et al. (2019), "An Evaluation Dataset for Intent Classification and Out-of-Scope Prediction" (CLINC150):
    accuracy over the texts in scope, and recall over the texts out of scope, which is the share of them that is
    recognised. Out of scope may be a label that is trained like the others. Or a text counts as out of scope if the
    probability of its best label lies below a threshold; of all thresholds it is the one with the highest accuracy on
    the validation split, where out of scope is a label like the others.

    Args:
        outputs: list of strings, the predicted labels.
        references: list of strings, among them `label`.
        confidences: the probability of each output, needed for a threshold: (examples,).
        threshold: below it a text counts as out of scope, see `choose_threshold`; by default only outputs that are
            `label` do.
        label: of the texts that are out of scope.
        resamples: of the bootstrap.
        seed: of the bootstrap.

    Returns:
        A dict with `count` (also as `sentences`), `out_of_scope` (how many references are), `threshold` if there is
        one, and the percentages `out_of_scope_recall`, `in_scope_accuracy` (a text in scope that counts as out of scope
        is wrong), `out_of_scope_precision` (`missing` if no output is out of scope) and `accuracy` over all texts, with
        their intervals at 95 %.

    Example:
        >>> from zoo.scores import out_of_scope
        >>> scores = out_of_scope(["pay", "pay", "oos"], ["pay", "oos", "oos"], [0.9, 0.4, 0.8], threshold=0.5)
        >>> scores["out_of_scope_recall"], scores["in_scope_accuracy"]
        (100.0, 100.0)
    """
    if threshold is not None:
        outputs = with_threshold(outputs, confidences, threshold, label)
    scores, count = out_of_scope_scores(outputs, references, label), len(references)
    result = report(scores, resamples, seed)
    sizes = {"count": count, "sentences": count, "out_of_scope": sum(one == label for one in references)}
    return sizes | ({} if threshold is None else {"threshold": float(threshold)}) | result


def with_threshold(outputs, confidences, threshold, label=LABEL):
    """The outputs, with `label` where the confidence lies below the threshold."""
    confidences = _confidences(outputs, confidences)
    return [label if low else output for output, low in zip(outputs, confidences < threshold, strict=True)]


def choose_threshold(outputs, references, confidences, label=LABEL):
    """The threshold with the highest accuracy on a validation split, the lowest one of several.

    Args: as of `out_of_scope`.

    Returns:
        A float: 0.0, or the middle between two confidences that follow each other.

    Example:
        >>> from zoo.scores import choose_threshold
        >>> round(choose_threshold(["pay", "pay", "call"], ["pay", "oos", "call"], [0.9, 0.3, 0.5]), 3)
        0.4
    """
    check_pairs(outputs, references)
    confidences = _confidences(outputs, confidences)
    order = np.argsort(confidences, kind="stable")
    ranked = confidences[order]
    right_if_kept = np.array([one == other for one, other in zip(outputs, references, strict=True)], int)[order]
    right_if_rejected = np.array([one == label for one in references], int)[order]
    # Right answers if the lowest 0, 1, ... are given up.
    right = np.append(0, np.cumsum(right_if_rejected)) + right_if_kept.sum() - np.append(0, np.cumsum(right_if_kept))
    # Equal confidences are given up together; nothing lies above the highest one but 1.
    cuts = np.flatnonzero(np.append(True, np.append(np.diff(ranked) > 0, ranked[-1] < 1)))
    best = cuts[np.argmax(right[cuts])]
    upper = ranked[best] if best < len(ranked) else 1.0
    return float((ranked[best - 1] + upper) / 2) if best else 0.0


def _confidences(outputs, confidences):
    confidences = np.asarray([] if confidences is None else confidences, float)
    if confidences.shape != (len(outputs),) or not ((0 <= confidences) & (confidences <= 1)).all():
        raise ValueError(
            f"Expected a probability from 0 to 1 for each of the {len(outputs)} outputs; received an array of shape "
            f"{confidences.shape}" + (f" from {confidences.min()} to {confidences.max()}." if confidences.size else ".")
        )
    return confidences
