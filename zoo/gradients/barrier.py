"""A residual stream's gradient, computed once.

XLA for CPUs fuses a chain of sums into each of its readers. The gradient of a stream of pre-norm branches is such a
chain, `g_k = g_(k+1) + (the gradient of branch k)`, with three readers a branch: each of them computed all the branches
above it again, and the time of a step grew with the square of the depth. `jax.lax.optimization_barrier` does not help,
because XLA removes it before it fuses. A conditional whose answer XLA cannot know stays, and its result is kept.

TensorFlow's programs have other sums and do not need it.
"""

import functools

import keras
from keras import ops

from zoo.core.later import later

jax = later("jax")


def gradient_barrier(x, weight):
    """`x`; its gradient is the same as without the barrier, and on a CPU is computed before whatever reads it.

    Args:
        x: a tensor.
        weight: a vector of weights that a compiled step takes as an argument, so that XLA does not know its values; not
            one that is split among devices, for that would be a message.
    """
    return _of_jax()(x, ops.convert_to_tensor(weight)[0]) if keras.backend.backend() == "jax" else x


@functools.cache
def _of_jax():
    @jax.custom_jvp
    def barrier(x, number):
        return x

    def keep(tangent, number):
        return jax.lax.cond(number == float("inf"), lambda each: each + 0, lambda each: each, tangent)

    def fuse(tangent, number):
        return tangent

    @barrier.defjvp
    def differentiate(values, tangents):
        return values[0], jax.lax.platform_dependent(tangents[0], values[1], cpu=keep, default=fuse)

    return barrier
