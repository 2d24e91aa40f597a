"""A loop over the first axis, of at least one step: that of JAX, and the same on TensorFlow."""

import keras

from zoo.core.later import later

jax = later("jax")
tf = later("tensorflow")


def scan(one, carry, inputs, reverse=False):
    """`(last carry, results of each step)` of `carry, result = one(carry, given[t])`, nested arrays or None."""
    if keras.backend.backend() == "jax":
        return jax.lax.scan(one, carry, inputs, reverse=reverse)
    flat = tf.nest.flatten(inputs)
    time = tf.shape(flat[0])[0]
    arrays = [None if each is None else tf.TensorArray(each.dtype, time).unstack(each) for each in flat]
    # What the results are is told by those of the first step, which nothing uses, so that XLA leaves it out.
    _, result = one(carry, tf.nest.pack_sequence_as(inputs, [None if each is None else each[0] for each in flat]))
    kinds = tf.nest.flatten(result)
    outputs = [tf.TensorArray(each.dtype, time, element_shape=each.shape) for each in kinds]

    def body(count, carry, outputs):
        position = time - 1 - count if reverse else count
        now = [None if each is None else each.read(position) for each in arrays]
        carry, result = one(carry, tf.nest.pack_sequence_as(inputs, now))
        pairs = zip(outputs, tf.nest.flatten(result), strict=True)
        return count + 1, carry, [array.write(position, each) for array, each in pairs]

    _, carry, outputs = tf.while_loop(
        lambda count, *_: count < time, body, (0, carry, outputs), maximum_iterations=time
    )
    return carry, tf.nest.pack_sequence_as(result, [array.stack() for array in outputs])
