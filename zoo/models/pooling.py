"""One vector of a text's states."""

from keras import ops

from zoo.core.masks import masked_mean
from zoo.core.precision import wide

POOLINGS = ("mean", "first")
SMALLEST = 1e-24  # of a squared length: a vector of zeros stays one, with a gradient that is finite


def check_pooling(pooling):
    """Raises: ValueError: it is none of `POOLINGS`."""
    if pooling not in POOLINGS:
        raise ValueError(f"There is no pooling {pooling!r}. Expected one of {POOLINGS}.")


def pooled(states, mask, pooling="mean"):
    """`(batch, units)` of `states (batch, time, units)`: their mean where the mask holds, or the first of them.

    A row without any valid position has 0.
    """
    if pooling == "mean":
        return masked_mean(states, mask)
    return ops.where(mask[:, :1], states[:, 0], 0.0)


def normalised(vectors):
    """`v / |v|`, float32 at least; 0 stays 0."""
    vectors = wide(vectors)
    return vectors / ops.sqrt(ops.maximum(ops.sum(ops.square(vectors), axis=-1, keepdims=True), SMALLEST))
