"""Masks come from lengths, never from ids: `True` means keep."""

from keras import ops

MASKED = -1e9  # a finite score: a row without any valid position stays finite, and float16 is never asked to hold it


def length_mask(lengths, time):
    """`mask[b, t] = t < lengths[b]`: (batch,) integers -> (batch, time) bool."""
    return ops.arange(time, dtype="int32")[None, :] < ops.cast(lengths, "int32")[:, None]


def optional_mask(lengths, x):
    """The mask of `x (batch, time, ...)`, or None where no lengths are given: every position counts."""
    return None if lengths is None else length_mask(lengths, ops.shape(x)[1])


def masked_softmax(scores, mask=None):
    """Softmax over the last axis where `mask` holds; exactly 0 elsewhere, and all 0 where nothing is valid.

    Computed in float32 whatever the dtype of `scores`; the result has the dtype of `scores`.
    """
    dtype = scores.dtype
    scores = ops.cast(scores, "float32")
    if mask is not None:
        scores = ops.where(mask, scores, MASKED)
    alone = scores.shape[-1] == 1  # Keras warns of a softmax over one position, which here is a source of one word
    weights = ops.ones_like(scores) if alone else ops.softmax(scores, axis=-1)
    return ops.cast(weights if mask is None else ops.where(mask, weights, 0.0), dtype)
