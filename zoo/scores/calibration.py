"""Whether a confidence means what it says: of the answers with a confidence of .8, eight of ten should be right.

A network that was trained long is surer than it should be. Its logits `z` are divided by a temperature `T`, with which
the validation labels are likeliest, `min_T -mean log softmax(z / T)[y]`; no answer changes by it. This is temperature
scaling of Guo et al. (2017), "On Calibration of Modern Neural Networks". So that a validation without a mistake does
not ask for certainty, its labels are smoothed by 1 / (n + 2) as in Platt (1999), "Probabilistic Outputs for Support
Vector Machines".
"""

import numpy as np

BINS = 15  # of confidences, as in Guo et al.
SHARPEST, FLATTEST = 20.0, 0.05  # the bounds of 1 / T
HALVINGS = 60


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
