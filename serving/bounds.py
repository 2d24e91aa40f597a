"""What may enter a graph: token ids of its vocabulary, and lengths that lie within the time axis.

ONNX Runtime checks neither: it counts a negative id from the end of the vocabulary, reads a length of 0 or one past the
end as it comes, and its GRU and LSTM kernels end the process when they are given no row at all (1.31, CPU).
"""

import numpy as np


def bounds(kind, signature, name, vocabulary):
    """`(least, most)` of an input: whole numbers, an axis' name, or None where nothing bounds it; None for others.

    Args:
        kind: of the artefact, such as "generate".
        signature: that the input belongs to, such as "tokens".
        name: of the input.
        vocabulary: number of ids by side, "source" or "target"; empty where it is not known.
    """
    if "." in name:  # memory and state of a driver, which the graphs themselves have made
        return None
    if name.endswith("_ids"):
        written = name == "target_ids" or (signature == "step" and "target" in vocabulary)
        size = vocabulary.get("target" if written else "source")
        return 0, size and size - 1
    if name == "lengths" or name.endswith("_lengths"):
        # A blank prompt is the beginning of a text, and a target that is scored may be empty: BOS stands in front.
        return (0 if kind == "continue" or name == "target_lengths" else 1), "time"
    return None


def check(kind, signature, inputs, vocabulary):
    """Refuse what no graph of the artefact can answer.

    Args:
        inputs: arrays by name; the rest as of `bounds`.

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
            "An empty batch has no answer: leave the call out."
        )


def _check_range(name, value, least, most):
    if not np.issubdtype(value.dtype, np.integer):
        raise ValueError(f"{name} must hold whole numbers; received {value.dtype}.")
    wrong = value[(value < least) | (value > (np.inf if most is None else most))]
    if wrong.size:
        expected = f"between {least} and {most}" if most is not None else f"at least {least}"
        raise ValueError(f"{name} must hold whole numbers {expected}; received {int(wrong.flat[0])}.")
