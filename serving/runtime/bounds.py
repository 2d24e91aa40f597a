"""Checks of a graph's inputs: token ids must be in the vocabulary, and lengths must lie within the time axis.

ONNX Runtime does not check this: it counts a negative id from the end of the vocabulary, accepts a length of 0 or one
beyond the time axis, and its GRU and LSTM kernels end the process when a batch has no rows (1.31, CPU).
"""

import numpy as np


def bounds(kind, signature, name, vocabulary):
    """`(least, most)` of an input of ids or lengths; None for every other input.

    `most` is a whole number, the name of an axis, or None if there is no upper bound.

    Args:
        kind: the `serving.kinds.base.Kind` of the artefact.
        signature: the name of the signature of the input, such as "tokens".
        name: the name of the input.
        vocabulary: the number of ids for each side, "source" or "target"; empty if it is not known.
    """
    if "." in name:  # the memory and the state of a driver, which come from the graphs themselves
        return None
    if name.endswith("_ids"):
        written = name == "target_ids" or (signature == "step" and "target" in vocabulary)
        size = vocabulary.get("target" if written else "source")
        return 0, size and size - 1
    if name == "lengths" or name.endswith("_lengths"):
        return (0 if name == "target_lengths" else kind.fewest), "time"  # BOS stands before a target that is scored
    return None


def check(kind, signature, inputs, vocabulary):
    """Refuse inputs that a graph of the artefact cannot process.

    Args:
        kind, signature, vocabulary: as of `bounds`.
        inputs: arrays by name.

    Raises:
        ValueError: names the input, what was expected and what was received.
    """
    for name, value in inputs.items():
        if name.endswith("_ids") and "." not in name:
            _check_shape(name, value)
    for name, value in inputs.items():
        least, most = bounds(kind, signature, name, vocabulary) or (None, None)
        if least is None:
            continue
        if most == "time":
            ids = inputs.get("token_ids" if name == "lengths" else name.replace("_lengths", "_ids"))
            if ids is None:
                most = None
            elif value.shape != ids.shape[:1]:
                raise ValueError(
                    f"{name} must hold one length for each of the {len(ids)} rows; received the shape {value.shape}."
                )
            else:
                most = ids.shape[1]
        _check_range(name, value, least, most)


def _check_shape(name, value):
    if value.ndim != 2 or 0 in value.shape:
        raise ValueError(
            f"{name} must have the shape (batch, time) with at least one row and one column; received {value.shape}. "
            "Do not call the graph for an empty batch."
        )


def _check_range(name, value, least, most):
    if value.dtype.kind not in "iu":
        raise ValueError(f"{name} must hold whole numbers; received {value.dtype}.")
    if value.size and (value.min() < least or most is not None and value.max() > most):
        wrong = value[(value < least) | (value > (np.inf if most is None else most))]
        expected = f"between {least} and {most}" if most is not None else f"at least {least}"
        raise ValueError(f"{name} must hold whole numbers {expected}; received {int(wrong.flat[0])}.")
