"""Weights that a loop over time reads before it begins."""

from contextlib import nullcontext

import keras

from zoo.core.later import later

tf = later("tensorflow")


def read_before(layer):
    """A context in which the loop of a recurrent layer finds its weights as tensors that were read outside.

    TensorFlow's gradient of a loop keeps what each round computes, and a variable that is read inside counts as
    computed: of a kernel of 1 MB the forward loop wrote 64 copies for 64 steps, and the backward loop read them from
    there. What was read outside is the same in all rounds, and is kept once. JAX reads all variables before it begins.
    Of `gru_reset_before` each step still keeps the part of a kernel that Keras' cell cuts out of it inside the loop.
    """
    if keras.backend.backend() != "tensorflow" or not layer.built:
        return nullcontext()
    return keras.StatelessScope([(weight, tf.convert_to_tensor(weight.value)) for weight in layer.trainable_weights])
