"""Additive attention (Bahdanau, Cho, Bengio 2015)."""

from typing import Any

from keras import layers, ops

from zoo.attention.base import AlignmentAttention
from zoo.core.masks import wide
from zoo.core.registry import register


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
