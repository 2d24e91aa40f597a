"""Layers that stand around those which `run_layer_test` cannot call by itself.

It gives each argument one array. A decoder's memory is a nest of arrays, an `AttentionCell` is called by Keras' `RNN`
inside a `with` block, and a model takes one dictionary: each gets a layer that takes plain arrays and passes them on.
"""

import keras
from keras import layers

from zoo.core.registry import keeps_arguments

PACKAGE = "tests_keras_suite"


@keras.saving.register_keras_serializable(PACKAGE)
@keeps_arguments
class Around(layers.Layer):
    """A layer around `inner`."""

    def __init__(self, inner, **kwargs):
        super().__init__(**kwargs)
        self.inner = inner


@keras.saving.register_keras_serializable(PACKAGE)
class Decoding(Around):
    """A `RecurrentDecoder` whose memory is made of an encoder's outputs and of its final state."""

    def build(self, inputs_shape, values_shape, state_shape):
        self.inner.build(inputs_shape, {"values": values_shape, "summary": state_shape})

    def call(self, inputs, values, state, training=None):
        mask = keras.ops.ones_like(values[:, :, 0], dtype="bool")
        return self.inner(inputs, self.inner.remember(values, mask, (state,)), training=training)


@keras.saving.register_keras_serializable(PACKAGE)
class Attending(Around):
    """An `AttentionCell` in Keras' `RNN`, over values that are an input."""

    def __init__(self, inner, **kwargs):
        super().__init__(inner, **kwargs)
        self.rnn = layers.RNN(inner, return_sequences=True, dtype=self.dtype_policy)

    def build(self, inputs_shape, values_shape):
        self.inner.build(inputs_shape, values_shape)
        self.inner.built = self.rnn.built = True

    def call(self, inputs, values, training=None):
        with self.inner.attending(values):
            return self.rnn(inputs, training=training)


@keras.saving.register_keras_serializable(PACKAGE)
class Labelling(Around):
    """A model of one text."""

    def build(self, token_ids_shape, lengths_shape):
        self.inner.build()

    def call(self, token_ids, lengths, training=None):
        return self.inner({"token_ids": token_ids, "lengths": lengths}, training=training)


@keras.saving.register_keras_serializable(PACKAGE)
class Comparing(Around):
    """A model of two texts."""

    def build(self, first_ids_shape, first_lengths_shape, second_ids_shape, second_lengths_shape):
        self.inner.build()

    def call(self, first_ids, first_lengths, second_ids, second_lengths, training=None):
        first = {"first_ids": first_ids, "first_lengths": first_lengths}
        second = {"second_ids": second_ids, "second_lengths": second_lengths}
        return self.inner({**first, **second}, training=training)


@keras.saving.register_keras_serializable(PACKAGE)
class Translating(Around):
    """A model of a source and a target."""

    def build(self, source_ids_shape, source_lengths_shape, target_ids_shape):
        self.inner.build()

    def call(self, source_ids, source_lengths, target_ids, training=None):
        inputs = {"source_ids": source_ids, "source_lengths": source_lengths, "target_ids": target_ids}
        return self.inner(inputs, training=training)
