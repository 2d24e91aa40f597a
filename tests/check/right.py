"""Right layers of somebody else, which `zoo.check` must let pass."""

import keras
from keras import layers, ops

from zoo.attention import MultiHeadAttention
from zoo.blocks import PreNorm
from zoo.core.masks import ImplicitMasks
from zoo.core.protocols import FeedForward as Traits, Positions

RIGHT = {}  # of each class: its slot


def right(slot):
    def put(cls):
        RIGHT[cls] = slot
        return keras.saving.register_keras_serializable("right")(cls)

    return put


@right("positions")
class Smoothed(layers.Layer):
    """Keras hands `mask` over by itself, where the layer's only tensor has one: nothing of the zoo is inherited."""

    traits = Positions()

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, x, mask=None):
        seen = x if mask is None else ops.where(mask[:, :, None], x, 0.0)
        return x + ops.pad(seen[:, 1:], ((0, 0), (0, 1), (0, 0)))

    def get_config(self):
        return super().get_config()


@right("positions")
class NormBehind(layers.Layer):
    """Rows are added, and a norm stands behind the sum, as in BART: nothing but `call` says so."""

    traits = Positions(by_place=True, longest=80)

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def build(self, x_shape):
        self.matrix = self.add_weight(name="matrix", shape=(80, x_shape[-1]))
        self.norm = layers.LayerNormalization(dtype=self.dtype_policy)
        self.norm.build(x_shape)

    def call(self, x, mask=None):
        return self.norm(x + ops.cast(self.matrix, x.dtype)[: ops.shape(x)[1]])

    def get_config(self):
        return super().get_config()


@right("feedforward")
class Gated(layers.Layer):
    """`W_2 (relu(W_1 x) * V x)`, the product in float32 whatever the policy, and Keras' dropout."""

    traits = Traits()

    def __init__(self, units, hidden_units, dropout=0.1, seed=None, **kwargs):
        super().__init__(**kwargs)
        self.units, self.hidden_units, self.dropout, self.seed = units, hidden_units, dropout, seed
        self.inner = layers.Dense(2 * hidden_units, dtype=self.dtype_policy)
        self.outer = layers.Dense(units, dtype=self.dtype_policy)
        self.drop = layers.Dropout(dropout, seed=seed, dtype=self.dtype_policy)
        self.supports_masking = True

    def build(self, x_shape):
        self.inner.build(x_shape)
        self.outer.build((*x_shape[:-1], self.hidden_units))

    def call(self, x, training=None):
        gate, value = ops.split(ops.cast(self.inner(x), "float32"), 2, axis=-1)
        return self.outer(self.drop(ops.cast(ops.relu(gate) * value, self.compute_dtype), training=training))

    def compute_output_shape(self, x_shape):
        return (*x_shape[:-1], self.units)

    def get_config(self):
        own = {name: vars(self)[name] for name in ("units", "hidden_units", "dropout", "seed")}
        return {**super().get_config(), **own}


@right("feedforward")
class Normalised(ImplicitMasks, layers.Layer):
    """A batch norm, which is declared: `uses_mask`."""

    traits = Traits(uses_mask=True)

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        self.dense = layers.Dense(units, use_bias=False, dtype=self.dtype_policy)
        self.norm = layers.BatchNormalization(dtype="float32")
        self.supports_masking = True

    def build(self, x_shape):
        self.dense.build(x_shape)
        self.norm.build((*x_shape[:-1], self.units))

    def call(self, x, mask=None, training=None):
        return ops.cast(self.norm(self.dense(x), mask=mask, training=training), self.compute_dtype)

    def compute_output_shape(self, x_shape):
        return (*x_shape[:-1], self.units)

    def get_config(self):
        return {**super().get_config(), "units": self.units}


@right("attention")
class Attending(MultiHeadAttention):
    """As it is."""


@right("attention")
class Watching(MultiHeadAttention):
    """The bias of its keys has a gradient, unlike that of the layer from which it is derived."""

    def __init__(self, units, num_heads, **kwargs):
        super().__init__(units, num_heads, **kwargs)
        self.key_projection.activation = keras.activations.tanh


@right("block")
class Blocked(PreNorm):
    """As it is."""
