"""The gated feed-forward network: one half of the hidden units decides how much of the other half passes."""

from typing import Any

from keras import layers

from zoo.core.dropout import Dropout
from zoo.core.registry import register
from zoo.feedforward.dense import activation_of


@register
class GatedFeedForward(layers.Layer):
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
        use_bias: whether the three have biases; the paper's have none.

    Raises:
        ValueError: a size is not a positive integer, or Keras does not know the activation.

    Example:
        >>> import numpy as np
        >>> from zoo.feedforward import GatedFeedForward
        >>> tuple(GatedFeedForward(4, hidden_units=16, activation="gelu")(np.ones((2, 3, 4), "float32")).shape)
        (2, 3, 4)

    Reference: https://arxiv.org/abs/2002.05202.
    """

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
        super().__init__(**kwargs)
        if not all(isinstance(size, int) and size > 0 for size in (units, hidden_units)):
            raise ValueError(
                "GatedFeedForward needs positive integers as units and hidden_units. "
                f"Received: units={units!r}, hidden_units={hidden_units!r}."
            )
        self.units, self.hidden_units, self.activation = units, hidden_units, activation
        self.dropout, self.seed, self.use_bias = dropout, seed, use_bias
        self.supports_masking = True
        own = {"use_bias": use_bias, "dtype": self.dtype_policy}
        self.hidden = layers.Dense(hidden_units, activation=activation_of(activation), name="hidden", **own)
        self.gated = layers.Dense(hidden_units, name="gated", **own)
        self.output_projection = layers.Dense(units, name="output", **own)
        self.dropout_layer = Dropout(dropout, seed=seed, dtype=self.dtype_policy)

    def build(self, x_shape):
        self.hidden.build(x_shape)
        self.gated.build(x_shape)
        self.output_projection.build((*x_shape[:-1], self.hidden_units))

    def call(self, x, training=None):
        return self.output_projection(self.dropout_layer(self.hidden(x) * self.gated(x), training=training))

    def compute_output_shape(self, x_shape):
        return (*x_shape[:-1], self.units)

    def get_config(self):
        names = "units hidden_units activation dropout seed use_bias".split()
        return {**super().get_config(), **{name: getattr(self, name) for name in names}}
