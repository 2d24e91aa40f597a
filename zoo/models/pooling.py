"""One vector of a text, made of the states of its tokens."""

from typing import Any

from keras import layers, ops

from zoo.core.masks import ImplicitMasks, masked_mean
from zoo.core.registry import register

RULES = ("mean", "first")
DENSE = ("tanh", "relu", None)


@register
class Pooling(ImplicitMasks, layers.Layer):
    """`h = mean_t x_t` over the positions that the mask keeps, or `h = x_1`; with `dense` then `f(W h + b)`.

    Shapes: `(batch, time, units)` -> `(batch, units)`; mask `(batch, time)` bool, True = keep. The `h` of a row without
    any valid position is 0.

    Args:
        rule: "mean", or "first" for the first token, as BERT reads it.
        dense: `f`, "tanh" or "relu"; None is no dense layer.

    Raises:
        ValueError: an unknown rule or function.

    Example:
        >>> import numpy as np
        >>> from zoo.models import Pooling
        >>> tuple(Pooling("first", dense="tanh")(np.ones((2, 5, 4), "float32")).shape)
        (2, 4)

    Reference: https://arxiv.org/abs/1810.04805, section 3 (the first token) and its code (the dense layer).
    """

    def __init__(self, rule: str = "mean", dense: Any = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if rule not in RULES or dense not in DENSE:
            raise ValueError(
                f"Unknown pooling: expected a rule of {RULES} and dense of {DENSE}. Received: rule={rule!r}, "
                f"dense={dense!r}."
            )
        self.rule, self.dense = rule, dense
        self.projection = None

    def build(self, x_shape):
        if self.dense:
            self.projection = layers.Dense(
                x_shape[-1], activation=self.dense, name="projection", dtype=self.dtype_policy
            )
            self.projection.build((x_shape[0], x_shape[-1]))

    def call(self, x, mask=None):
        if self.rule == "mean":
            h = masked_mean(x, mask)
        else:
            h = x[:, 0] if mask is None else ops.where(mask[:, :1], x[:, 0], 0.0)
        return h if self.projection is None else self.projection(h)

    def compute_output_shape(self, x_shape):
        return x_shape[0], x_shape[-1]

    def compute_mask(self, x, mask=None):
        return None
