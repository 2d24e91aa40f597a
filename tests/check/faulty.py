"""Layers with one fault each, for `zoo.check` to find."""

import keras
from keras import ops

import zoo
from zoo.attention import MultiHeadAttention
from zoo.core.protocols import Attention, Positions
from zoo.feedforward import FeedForward


@zoo.register("attention", name="faulty_causal")
class Peeping(MultiHeadAttention):
    """It sees the next position in spite of `causal=True`."""

    def call(self, query, value=None, *, query_mask=None, value_mask=None, causal=False, cache=None, training=None):
        later = query if value is not None else ops.concatenate([query[:, 1:], query[:, :1]], axis=1)
        masks = {"query_mask": query_mask, "value_mask": value_mask}
        return super().call(later, query if value is None else value, **masks, causal=causal, cache=cache)


@zoo.register("attention", name="faulty_steps")
class Forgetful(MultiHeadAttention):
    """Its steps see one entry too few."""

    def step(self, x, cache, seen=None, write_index=None):
        output, cache = super().step(x, cache, seen, write_index)
        return 0.9 * output, cache


@zoo.register("attention", name="faulty_padding")
class Leaking(keras.layers.Layer):
    """The mean of all positions, padding and all."""

    def __init__(self, units, width=3, **kwargs):
        super().__init__(**kwargs)
        self.units, self.wide = units, width
        self.dense = keras.layers.Dense(units)
        self.supports_masking = True

    def build(self, query_shape):
        self.dense.build(query_shape)

    def call(self, query, value=None, *, query_mask=None, value_mask=None, causal=False, cache=None, training=None):
        return self.dense(query + ops.mean(query, axis=1, keepdims=True))


@zoo.register("attention", name="faulty_onnx")
class Unwritable(Leaking):
    """An operation without an ONNX form."""

    traits = Attention(longest=9)

    def call(self, query, value=None, *, query_mask=None, value_mask=None, causal=False, cache=None, training=None):
        return self.dense(ops.expm1(query))


@zoo.register("positions", name="faulty_positions")
class Trailing(keras.layers.Layer):
    """It says that a vector's place alone decides, and adds the mean of what came before."""

    traits = Positions(by_place=True)

    def call(self, x, mask=None):
        count = ops.cast(ops.arange(ops.shape(x)[1]) + 1, x.dtype)
        return x + ops.cumsum(x, axis=1) / count[None, :, None]


@zoo.register("feedforward", name="faulty_feedforward")
class Mixing(FeedForward):
    """Each position and the one before it; a step has only one."""

    def call(self, x, training=None):
        return super().call(x + ops.concatenate([ops.zeros_like(x[:, :1]), x[:, :-1]], axis=1), training=training)


class Hiding(FeedForward):
    """Keras asks a layer where it is; this one asks back."""

    def path(self, x):
        return x


class Nowhere(keras.layers.Layer):
    """In no slot."""
