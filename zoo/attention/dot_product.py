"""Dot-product attention with projections: W_Q for the query, W_K for the key ("general" in Luong et al. 2015)."""

from typing import Any

from keras import layers, ops

from zoo.attention.base import AlignmentAttention
from zoo.core.registry import register


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
