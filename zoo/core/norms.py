"""The norms of residual streams, by name."""

from keras import layers

EPSILON = 1e-5
NORMS = {"layer": layers.LayerNormalization, "rms": layers.RMSNormalization}


def make_norm(kind, epsilon=EPSILON, **settings):
    """A layer of Keras, which is given the `settings`, too.

    "layer" is `(x - mean(x)) / sqrt(var(x) + epsilon) * gain + bias`, "rms" is `x / sqrt(mean(x^2) + epsilon) * gain`.

    Raises:
        ValueError: an unknown kind, or an `epsilon` that is no positive number.
    """
    if kind not in NORMS:
        raise ValueError(f"Unknown norm: expected one of {list(NORMS)}, received {kind!r}.")
    if not isinstance(epsilon, int | float) or not 0 < epsilon < 1:
        raise ValueError(f"The epsilon of a norm lies between 0 and 1. Received: epsilon={epsilon!r}.")
    norm = NORMS[kind](epsilon=epsilon, **settings)
    norm.supports_masking = True  # a position's norm depends on no other, so the mask that Keras attaches goes on
    return norm


def gain_of(norm):
    """The vector that a norm multiplies with."""
    return norm.scale if isinstance(norm, layers.RMSNormalization) else norm.gamma
