"""The gated feed-forward network: one half of the hidden units decides how much of the other half passes."""

from typing import Any

from keras import layers

from zoo.core import protocols
from zoo.core.registry import register
from zoo.feedforward.dense import FeedForward


@register
class GatedFeedForward(FeedForward):
    """`y = W_2 (f(W_0 x) * W_1 x)`, each position by itself, with biases if asked for.

    With `f` the sigmoid it is GLU, with "gelu" GEGLU and with "silu" SwiGLU. It has three matrices where `FeedForward`
    has two, so two thirds of the hidden units have as many parameters.

    Shapes: `(batch, time, units)` -> the same. Cost: `O(time * units * hidden_units)` in time, `O(time * hidden_units)`
    in memory.

    Args:
        units: width of the output.
        hidden_units: width of `f`.
        activation: `f`: as of `FeedForward`.
        dropout: on the product.
        seed: of the dropout.
        use_bias: biases of the three layers; the paper's have none.

    Raises:
        ValueError: a size is not a positive integer, or Keras does not know the activation.

    Example:
        >>> import numpy as np
        >>> from zoo.feedforward import GatedFeedForward
        >>> tuple(GatedFeedForward(4, hidden_units=16, activation="gelu")(np.ones((2, 3, 4), "float32")).shape)
        (2, 3, 4)

    Reference: https://arxiv.org/abs/2002.05202.
    """

    traits = protocols.FeedForward()  # the formula of `zoo.depth.flops` counts two matrices and not three

    def __init__(
        self,
        units: int,
        hidden_units: int,
        activation: Any = "relu",
        dropout: float = 0.0,
        seed: int | None = None,
        use_bias: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(units, hidden_units, activation, dropout, seed, use_bias, **kwargs)
        self.gated = layers.Dense(hidden_units, name="gated", use_bias=use_bias, dtype=self.dtype_policy)

    def build(self, x_shape):
        self.gated.build(x_shape)
        super().build(x_shape)

    def inner(self, x):
        return self.hidden(x) * self.gated(x)
