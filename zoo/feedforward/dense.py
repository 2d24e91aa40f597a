"""The position-wise feed-forward network, and the gated one, where half of the hidden units let the other half pass."""

import math
from typing import Any

from keras import activations, layers, ops

from zoo.core import protocols
from zoo.core.dropout import Dropout
from zoo.core.registry import register


def gelu(x):
    """`0.5 x (1 + erf(x / sqrt 2))`, the exact form, from operations that every export knows."""
    return 0.5 * x * (1.0 + ops.erf(x / math.sqrt(2.0)))


def gelu_tanh(x):
    """`0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))`, the approximation of `gelu` that GPT-2 has."""
    return 0.5 * x * (1.0 + ops.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x * x * x)))


GELUS = {"gelu": gelu, "gelu_tanh": gelu_tanh}


def activation_of(name):
    return GELUS[name] if isinstance(name, str) and name in GELUS else activations.get(name)


@register
class FeedForward(layers.Layer):
    """`y = W_2 f(W_1 x + b_1) + b_2`, each position by itself.

    Shapes: `(batch, time, units)` -> the same. Cost: `O(time * units * hidden_units)` in time, `O(time * hidden_units)`
    in memory.

    Args:
        units: width of the output.
        hidden_units: width of `f`.
        activation: `f`: "relu" as in the paper, "gelu", "gelu_tanh", "silu", or another of Keras' names.
        dropout: on `f(...)` (the paper has none there).
        seed: of the dropout.
        use_bias: biases of the two layers, `b_1` and `b_2`.

    Raises:
        ValueError: a size is not a positive integer, or Keras does not know the activation.

    Example:
        >>> import numpy as np
        >>> from zoo.feedforward import FeedForward
        >>> tuple(FeedForward(4, hidden_units=16)(np.ones((2, 3, 4), "float32")).shape)
        (2, 3, 4)

    Reference: https://arxiv.org/abs/1706.03762, section 3.3; gelu: https://arxiv.org/abs/1606.08415.
    """

    def __init__(
        self,
        units: int,
        hidden_units: int,
        activation: Any = "relu",
        dropout: float = 0.0,
        seed: int | None = None,
        use_bias: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if not all(isinstance(size, int) and size > 0 for size in (units, hidden_units)):
            raise ValueError(
                f"{type(self).__name__} needs positive integers as units and hidden_units. "
                f"Received: units={units!r}, hidden_units={hidden_units!r}."
            )
        self.units, self.hidden_units, self.activation = units, hidden_units, activation
        self.dropout, self.seed, self.use_bias = dropout, seed, use_bias
        self.supports_masking = True
        function = activation_of(activation)
        own = {"use_bias": use_bias, "dtype": self.dtype_policy}
        self.hidden = layers.Dense(hidden_units, activation=function, name="hidden", **own)
        self.output_projection = layers.Dense(units, name="output", **own)
        self.dropout_layer = Dropout(dropout, seed=seed, dtype=self.dtype_policy)

    @property
    def traits(self):
        return protocols.FeedForward(hidden_units=self.hidden_units)

    def build(self, x_shape):
        self.hidden.build(x_shape)
        self.output_projection.build((*x_shape[:-1], self.hidden_units))

    def inner(self, x):
        """The hidden units, `(batch, time, hidden_units)`."""
        return self.hidden(x)

    def call(self, x, training=None):
        return self.output_projection(self.dropout_layer(self.inner(x), training=training))

    def compute_output_shape(self, x_shape):
        return (*x_shape[:-1], self.units)


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
