"""What `keras.ops` lacks: beams as an axis of their own, and a loop over the first axis.

Beams stand after the batch: leaves are `(batch, beams, ...)`.
"""

import keras
from keras import ops, tree

from zoo.core.later import later


def gather_beams(structure, parents):
    """Every leaf `(batch, beams, ...)` reordered along its beams: `leaf[b, k] <- leaf[b, parents[b, k]]`."""
    return tree.map_structure(lambda leaf: gather_leaf(leaf, parents), structure)


def gather_leaf(leaf, parents):
    batch, beams = ops.shape(leaf)[0], ops.shape(leaf)[1]
    rows = ops.arange(batch, dtype="int32")[:, None] * beams + parents
    flat = ops.reshape(leaf, (-1, *ops.shape(leaf)[2:]))
    return ops.reshape(
        ops.take(flat, ops.reshape(rows, (-1,)), axis=0),
        (batch, ops.shape(parents)[1], *ops.shape(leaf)[2:]),
    )


def flatten_beams(tensor):
    """(batch, beams, ...) -> (batch * beams, ...)."""
    return ops.reshape(tensor, (-1, *tensor.shape[2:]))


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
