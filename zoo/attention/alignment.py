"""Attention of a recurrent decoder, additive and dot-product: values are projected to keys once, scored, and averaged.

Additive attention is that of Bahdanau, Cho, Bengio 2015; the other one, with `W_Q` for the query and `W_K` for the key,
is called "general" in Luong et al. 2015.
"""

from abc import ABC, abstractmethod
from typing import Any

import keras
from keras import layers, ops

from zoo.core.masks import ImplicitMasks, combined_mask, masked_softmax, wide
from zoo.core.protocols import Attention
from zoo.core.registry import build_parts, register


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
        build_parts([self.key_projection], value_shape or query_shape)

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
        if cache is None and value is None:
            value, value_mask = query, query_mask if value_mask is None else value_mask
        held = self.precompute(value) if cache is None else cache
        output, _ = self.attend(query, held, value_mask, causal)
        if query_mask is not None:
            output = ops.where(query_mask[:, :, None], output, 0.0)
        return output if cache is None else (output, cache)

    def compute_output_shape(self, query_shape, value_shape=None):
        return (*query_shape[:2], (value_shape or query_shape)[-1])


def additive_scores(query, keys, vector):
    """`e_ji = v . tanh(q_j + k_i)`: (b, t, d), (b, s, d), (d,) -> (b, t, s)."""
    return ops.matmul(wide(ops.tanh(query[:, :, None, :] + keys[:, None, :, :])), wide(vector))


@register
class AdditiveAttention(AlignmentAttention):
    """`e(s_j, h_i) = v^T tanh(W_s s_j + W_h h_i + b)`, which is `v^T tanh(W [h_i; s_j])` with `W = [W_h, W_s]`.

    Stock `keras.layers.AdditiveAttention` has no `W` at all; here both projections belong to the layer.

    Shapes: query `(batch, time, query_units)`, value `(batch, value_time, value_units)` ->
    `(batch, time, value_units)`. Cost: `O(time * value_time * units)` in time and, for the tanh, in memory.
    Masking: see `AlignmentAttention`.

    Args:
        units: width of the hidden layer of the scorer.

    Example:
        >>> import numpy as np
        >>> from zoo.attention import AdditiveAttention
        >>> attention = AdditiveAttention(8)
        >>> tuple(attention(np.ones((2, 3, 5), "float32"), np.ones((2, 7, 4), "float32")).shape)
        (2, 3, 4)

    Reference: https://arxiv.org/abs/1409.0473, section 3.1 and appendix A.1.2.
    """

    def __init__(self, units: int, **kwargs: Any) -> None:
        super().__init__(units, **kwargs)
        self.query_projection = layers.Dense(units, use_bias=False, name="query", dtype=self.dtype_policy)
        self.key_projection = layers.Dense(units, name="key", dtype=self.dtype_policy)

    def build(self, query_shape, value_shape=None):
        super().build(query_shape, value_shape)
        self.vector = self.add_weight(name="vector", shape=(self.units,), initializer="glorot_uniform")

    def scores(self, query, keys):
        return additive_scores(self.query_projection(query), keys, ops.cast(self.vector, keys.dtype))


@register
class DotProductAttention(AlignmentAttention):
    """`e(s_j, h_i) = scale * (W_K h_i)^T (W_Q s_j)`, softmax over the source positions i.

    The function class of Luong's "general" score `h^T W_a s` with `W_a = W_K^T W_Q` of rank at most `units`. Stock
    `keras.layers.Attention` has neither matrix. The paper has no scale, so it is 1 here unless one is given. `W_Q`
    could absorb a scale, but training does not find it: with hundreds of units and no scale, one weight soon becomes 1
    and the others 0, and the gradient vanishes (the reason for `1 / sqrt(units)` in https://arxiv.org/abs/1706.03762,
    section 3.2.1).

    Shapes: query `(batch, time, query_units)`, value `(batch, value_time, value_units)` ->
    `(batch, time, value_units)`. Cost: `O(time * value_time * units)` in time, `O(time * value_time)` in memory.
    Masking: see `AlignmentAttention`.

    Args:
        units: width of the space in which query and key meet.
        scale: factor of the scores.

    Example:
        >>> import numpy as np
        >>> from zoo.attention import DotProductAttention
        >>> attention = DotProductAttention(8)
        >>> tuple(attention(np.ones((2, 3, 5), "float32"), np.ones((2, 7, 4), "float32")).shape)
        (2, 3, 4)

    Reference: https://arxiv.org/abs/1508.04025, section 3.1.
    """

    def __init__(self, units: int, scale: float = 1.0, **kwargs: Any) -> None:
        super().__init__(units, **kwargs)
        self.scale = scale
        self.query_projection = layers.Dense(units, use_bias=False, name="query", dtype=self.dtype_policy)
        self.key_projection = layers.Dense(units, use_bias=False, name="key", dtype=self.dtype_policy)

    def scores(self, query, keys):
        return ops.matmul(self.query_projection(query) * self.scale, ops.swapaxes(keys, -1, -2))
