"""Wrong layers, each by one fault, which `zoo.check` must find."""

import random

import keras
from keras import layers, ops

from zoo.attention import MultiHeadAttention
from zoo.blocks import PreNorm
from zoo.core.protocols import Positions
from zoo.depth import Stack
from zoo.embeddings import TokenEmbedding
from zoo.feedforward import FeedForward

LAW = {}  # of each wrong class: its slot, and the law that finds it


def wrong(slot, law):
    def put(cls):
        LAW[cls] = slot, law
        return keras.saving.register_keras_serializable("wrong")(cls)

    return put


@wrong("feedforward", "training")
class ByLength(FeedForward):
    """In training the number of positions counts, padding and all."""

    def call(self, x, training=None):
        y = super().call(x, training=training)
        return y / ops.cast(ops.shape(x)[1], y.dtype) if training else y


@wrong("feedforward", "training")
class ByFirstRow(FeedForward):
    """In training every row is measured by the first one."""

    def call(self, x, training=None):
        y = super().call(x, training=training)
        return y / (1.0 + ops.mean(ops.abs(x[:1]))) if training else y


@wrong("feedforward", "training")
class PythonDraw(FeedForward):
    """In training Python's own random numbers scale what comes out."""

    def call(self, x, training=None):
        y = super().call(x, training=training)
        return y * (1.0 + random.random()) if training else y


@wrong("feedforward", "training")
class Counting(FeedForward):
    """In training a number of Python's counts the calls."""

    count = 0

    def call(self, x, training=None):
        type(self).count += 1
        y = super().call(x, training=training)
        return y * (1.0 + type(self).count % 3) if training else y


@wrong("feedforward", "training")
class OtherDtype(FeedForward):
    """In training it computes in 16 bits, and says nothing of it."""

    def call(self, x, training=None):
        y = super().call(x, training=training)
        return ops.cast(y, "float16") if training else y


@wrong("attention", "training")
class PeepingInTraining(MultiHeadAttention):
    """In training `causal` is forgotten."""

    def call(self, query, value=None, *, query_mask=None, value_mask=None, causal=False, cache=None, training=None):
        masks = {"query_mask": query_mask, "value_mask": value_mask}
        return super().call(query, value, **masks, causal=causal and not training, cache=cache, training=training)


@wrong("embedding", "training")
class Together(TokenEmbedding):
    """In training a token is drawn towards the last row of the batch."""

    def call(self, ids, training=None):
        x = super().call(ids)
        return x + 0.1 * x[-1:] if training else x


@wrong("feedforward", "static")
class OneRow(FeedForward):
    """A batch whose size is a number is said to be one row."""

    def compute_output_shape(self, x_shape):
        return (x_shape[0] and 1, *x_shape[1:-1], self.units)


@wrong("feedforward", "settings")
class Forgetting(FeedForward):
    """A copy has the default of its setting, though the config has another."""

    def __init__(self, units, hidden_units, gain=2.0, **kwargs):
        super().__init__(units, hidden_units, **kwargs)
        self.gain = gain

    def call(self, x, training=None):
        return self.gain * super().call(x, training=training)

    def get_config(self):
        return {**super().get_config(), "gain": self.gain}

    @classmethod
    def from_config(cls, config):
        return cls(**{name: value for name, value in config.items() if name != "gain"})


@wrong("attention", "long")
class FarPadding(MultiHeadAttention):
    """From position 24 on it looks at padding."""

    def call(self, query, value=None, *, query_mask=None, value_mask=None, causal=False, cache=None, training=None):
        masks = {"query_mask": query_mask, "value_mask": value_mask}
        y = super().call(query, value, **masks, causal=causal, cache=cache, training=training)
        return y if cache is not None or causal else y + ops.sum(query[:, 24:, :1], axis=1, keepdims=True)


@wrong("attention", "long")
class FarAhead(MultiHeadAttention):
    """Behind position 40 a position sees the next one, in spite of `causal`."""

    def call(self, query, value=None, *, query_mask=None, value_mask=None, causal=False, cache=None, training=None):
        masks = {"query_mask": query_mask, "value_mask": value_mask}
        y = super().call(query, value, **masks, causal=causal, cache=cache, training=training)
        if cache is not None or value is not None or not causal:
            return y
        following = ops.pad(query[:, 1:, :1], ((0, 0), (0, 1), (0, 0)))
        far = ops.arange(ops.shape(query)[1]) > 40
        return y + ops.where(far[None, :, None], following, 0.0)


@wrong("feedforward", "differences")
class FixedScale(FeedForward):
    """No gradient goes through the length of what comes in."""

    def call(self, x, training=None):
        length = ops.sqrt(1.0 + ops.sum(x * x, axis=-1, keepdims=True))
        return super().call(x / ops.stop_gradient(length), training=training)


@wrong("feedforward", "differences")
class HalfInTraining(FeedForward):
    """In training half of each gradient is lost."""

    def call(self, x, training=None):
        y = super().call(x, training=training)
        return 0.5 * y + ops.stop_gradient(0.5 * y) if training else y


@wrong("feedforward", "differences")
class OneUnit(FeedForward):
    """The first unit's gradient is twice what it should be."""

    def call(self, x, training=None):
        y = super().call(x, training=training)
        first = 2.0 * y[..., :1] - ops.stop_gradient(y[..., :1])
        return ops.concatenate([first, y[..., 1:]], axis=-1)


@wrong("block", "generation")
class Unscaled(PreNorm):
    """Its pass is scaled, its step is not."""

    def call(self, x, mask=None, memory=None, memory_mask=None, causal=False, training=None):
        return 1.1 * super().call(x, mask, memory, memory_mask, causal, training)


@wrong("depth", "generation")
class Unfinished(Stack):
    """A step leaves out the last norm."""

    def _advance(self, *args, **options):
        before, self.final_norm.epsilon = self.final_norm.epsilon, 1.0
        try:
            return super()._advance(*args, **options)
        finally:
            self.final_norm.epsilon = before


@wrong("positions", "implicit_masks")
class Swallowing(layers.Layer):
    """The mask of what comes in is not handed on."""

    traits = Positions()

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, x, mask=None):
        return 2.0 * x

    def compute_mask(self, inputs, previous_mask):
        return None

    def get_config(self):
        return super().get_config()


@wrong("positions", "generation")
class Counted(layers.Layer):
    """It says that places alone decide, and the number of positions does, too."""

    traits = Positions(by_place=True)

    def call(self, x, mask=None):
        return x * (1.0 + 1.0 / ops.cast(ops.shape(x)[1], x.dtype))

    def get_config(self):
        return super().get_config()
