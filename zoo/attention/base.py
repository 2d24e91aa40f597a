"""What additive and dot-product attention share:

values are projected to keys once, then scored, masked and averaged.
"""

from abc import ABC, abstractmethod

import keras
from keras import ops

from zoo.core.masks import ImplicitMasks, masked_softmax
from zoo.core.protocols import Attention


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


class AlignmentAttention(ImplicitMasks, keras.layers.Layer, ABC):
    """`c_j = sum_i a_ji h_i`, `a_j = softmax_i e(s_j, h_i)`; a subclass says what `e` is.

    The values `h` are averaged without a projection; only the scores use projections, `query_projection` and
    `key_projection`, which a subclass makes. `project` is separate from `attend` so that a decoder projects the source
    once per sentence and attends once per step.

    Call arguments:
        query: `(batch, time, query_units)`.
        value: `(batch, value_time, value_units)`; None is self-attention.
        query_mask: `(batch, time)` bool; outputs of masked queries are 0. `mask` is another name for it, by which Keras
            hands over what an `Embedding(mask_zero=True)` has attached. Without a value it masks the keys, too.
        value_mask: `(batch, value_time)` bool, True = keep. Masked positions weigh exactly 0; a row that is all
            padding gives zeros, and finite gradients.
        causal: position j sees only positions up to j.
        cache: `{"keys", "values"}` as `precompute(value)` returns it; then `value` is not needed, and the result is
            `(output, cache)`.

    Returns: `(batch, time, value_units)`.
    """

    traits = Attention(causal=True, crosses=True, aligns=True)

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        if not isinstance(units, int) or units < 1:
            raise ValueError(
                f"{type(self).__name__} needs a positive number of units (the width of the space in which query and "
                f"key meet). Received: units={units!r}."
            )
        self.units = units

    def build(self, query_shape, value_shape=None):
        self.query_projection.build(query_shape)
        if not self.key_projection.built:  # `project` builds it where it is called first
            self.key_projection.build(value_shape or query_shape)

    def project(self, value):
        """Keys of the values, `(batch, value_time, units)`: what does not depend on the query."""
        return self.key_projection(value)

    @abstractmethod
    def scores(self, query, keys):
        """`(batch, time, value_time)` unnormalised scores."""

    def precompute(self, value):
        return {"keys": self.project(value), "values": value}

    def attend(self, query, cache, value_mask=None, causal=False):
        """`(context, weights)`: `(batch, time, value_units)` and `(batch, time, value_time)`."""
        keys, values = cache["keys"], cache["values"]
        mask = combined_mask(ops.shape(query)[1], ops.shape(keys)[1], value_mask, causal)
        weights = ops.cast(masked_softmax(self.scores(query, keys), mask), values.dtype)
        return ops.matmul(weights, values), weights

    def attention_weights(self, query, value=None, *, value_mask=None, causal=False):
        """`(batch, time, value_time)` for plots and tests."""
        value = query if value is None else value
        return self.attend(query, self.precompute(value), value_mask, causal)[1]

    def call(self, query, value=None, *, query_mask=None, value_mask=None, causal=False, cache=None, training=None):
        with_cache = cache is not None
        if not with_cache:
            if value is None:
                value, value_mask = query, query_mask if value_mask is None else value_mask
            cache = self.precompute(value)
        output, _ = self.attend(query, cache, value_mask, causal)
        if query_mask is not None:
            output = ops.where(query_mask[:, :, None], output, 0.0)
        return (output, cache) if with_cache else output

    def compute_output_shape(self, query_shape, value_shape=None):
        return (*query_shape[:2], (value_shape or query_shape)[-1])
