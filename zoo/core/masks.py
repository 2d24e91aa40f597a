"""Masks come from lengths, never from ids: `True` means keep. Keras' implicit masks are understood, too."""

import functools
import inspect

import keras
from keras import ops

MASKED = -1e9  # a finite score: a row without any valid position stays finite, and float16 is never asked to hold it


def length_mask(lengths, time):
    """`mask[b, t] = t < lengths[b]`: (batch,) integers -> (batch, time) bool."""
    return ops.arange(time, dtype="int32")[None, :] < ops.cast(lengths, "int32")[:, None]


def optional_mask(lengths, x):
    """The mask of `x (batch, time, ...)`, or None where no lengths are given: every position counts."""
    return None if lengths is None else length_mask(lengths, ops.shape(x)[1])


def combined_mask(query_time, value_time, value_mask=None, causal=False):
    """(batch | 1, query_time | 1, value_time) bool, or None where everything may be seen."""
    mask = None if value_mask is None else value_mask[:, None, :]
    if causal:
        rows = ops.arange(query_time, dtype="int32")[:, None]
        seen = (ops.arange(value_time, dtype="int32")[None, :] <= rows)[None]
        mask = seen if mask is None else ops.logical_and(mask, seen)
    return mask


def sees_any(query_time, value_mask, causal=False):
    """`(batch, query_time | 1)` bool: which queries may see anything at all, without a mask of all pairs."""
    if not causal:
        return ops.any(value_mask, axis=1, keepdims=True)
    value_time = ops.shape(value_mask)[1]
    places = ops.arange(value_time, dtype="int32")
    first = ops.min(ops.where(value_mask, places, query_time + value_time), axis=1, keepdims=True)
    return first <= ops.arange(query_time, dtype="int32")[None, :]


def masked_softmax(scores, mask=None):
    """Softmax over the last axis where `mask` holds; exactly 0 elsewhere, and all 0 where nothing is valid.

    Computed in float32 at least, whatever the dtype of `scores`; the result has the dtype of `scores`.
    """
    dtype = scores.dtype
    scores = wide(scores)
    if mask is not None:
        scores = ops.where(mask, scores, MASKED)
    alone = scores.shape[-1] == 1  # Keras warns of a softmax over one position, which here is a source of one word
    weights = ops.ones_like(scores) if alone else ops.softmax(scores, axis=-1)
    return ops.cast(weights if mask is None else ops.where(mask, weights, 0.0), dtype)


def masked_mean(x, mask=None):
    """`(batch, units)`: the mean over the positions of `x (batch, time, units)` that the mask keeps, or 0.

    Sums and counts are float32 at least (`wide`); the result has the dtype of `x`.
    """
    states = wide(x)
    if mask is None:
        return ops.cast(ops.mean(states, axis=1), x.dtype)
    total = ops.sum(ops.where(mask[:, :, None], states, 0.0), axis=1)
    count = ops.maximum(ops.sum(ops.cast(mask, states.dtype), axis=1), 1.0)
    return ops.cast(total / count[:, None], x.dtype)


def with_both_names(call):
    """`call` under both names by which Keras hands over the mask of its first argument, called `x` here.

    The mask that `keras.layers.Embedding(mask_zero=True)` or `keras.layers.Masking` attaches to `x` goes into `mask`
    where `x` is the only tensor of the call, and into `x_mask` where there are others. A `call` declares one of the two
    names and is given the other as one more keyword. Keras fills `mask` only where nobody gave it, and fills `x_mask`
    beside a `mask` that somebody gave; so `mask` comes first.
    """
    signature = inspect.signature(call)
    parameters = list(signature.parameters.values())
    names = [parameter.name for parameter in parameters]
    both = ["mask", f"{names[1]}_mask"]
    if not set(both) & set(names):
        raise ValueError(
            f"{call.__qualname__} takes no mask, and its class derives from ImplicitMasks, which hands one over. "
            f"Expected an argument {both[0]!r} or {both[1]!r}, written out. Received: call{signature}."
        )
    (own,) = [name for name in both if name in names]
    (other,) = [name for name in both if name != own]
    place = names.index(own)

    @functools.wraps(call)
    def masked_call(*args, **kwargs):
        mask = kwargs.pop(other, None)
        if mask is None:
            return call(*args, **kwargs)
        if len(args) > place:
            args = (*args[:place], mask if args[place] is None else args[place], *args[place + 1 :])
        elif other == "mask" or kwargs.get(own) is None:
            kwargs[own] = mask
        return call(*args, **kwargs)

    keyword = inspect.Parameter(other, inspect.Parameter.KEYWORD_ONLY, default=None)
    masked_call.__signature__ = signature.replace(parameters=[*parameters, keyword])
    return masked_call


class ImplicitMasks:
    """A mixin, before the Keras layer, for every layer whose `call` takes the mask of its first argument.

    Keras' implicit masks reach `call` however many tensors it is given (`with_both_names`), those of further arguments
    as `NAME_mask`, as Keras has it. `layer(x, None)` is `layer(x)`: Keras would fill in the mask a second time. Keras
    hands the mask on to what comes out, unless `compute_mask` says otherwise.
    """

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.supports_masking = True

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "call" in vars(cls):
            cls.call = with_both_names(cls.call)

    def __call__(self, *args, **kwargs):
        while len(args) > 1 and args[-1] is None:
            args = args[:-1]
        return super().__call__(*args, **kwargs)


def wide(x):
    """In float32, or wider where `x` is: for hashes, scores, and sums and counts along an axis that may be long.

    float16 ends at 65,504, and a sum of ones that is kept in it stops at 2,048; one in bfloat16 stops at 256. Products
    of matrices are left as they are: accelerators add up theirs in float32.
    """
    return x if keras.backend.standardize_dtype(x.dtype) == "float64" else ops.cast(x, "float32")
