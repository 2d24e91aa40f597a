"""The gradient of a residual stream on JAX: the numbers of a forward derivative, and a program as long as the stack."""

import pytest

from tests.shared import python

ON_JAX = """
import re, sys
import jax, jax.numpy as jnp, keras, numpy as np
from zoo.depth import make_stack

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
x, direction, weights = (jnp.asarray(rng.normal(size=(2, 5, 16)), "float32") for _ in range(3))

def loss_of(depth):
    stack = make_stack(depth, 16, 2, 32, block=sys.argv[1], seed=1)
    stack.build(x.shape)
    fixed = [each.value for each in stack.non_trainable_variables]
    return lambda trained, x: (weights * stack.stateless_call(trained, fixed, x)[0]).sum(), [
        each.value for each in stack.trainable_variables
    ]

def longest_fusion(depth):
    loss, trained = loss_of(depth)
    text = jax.jit(jax.grad(loss, (0, 1))).lower(trained, x).compile().as_text()
    return max(each.count(" = ") for each in re.findall(r"^%fused_computation[^\\n]*{$(.*?)^}", text, re.S | re.M))

loss, trained = loss_of(1)
forward = jax.jit(lambda x: jax.jvp(lambda x: loss(trained, x), (x,), (direction,))[1])(x)
gradient = jax.jit(lambda x: jax.grad(loss, 1)(trained, x))
backward = (gradient(x) * direction).sum()
assert abs(forward - backward) < 1e-4 * abs(forward), (forward, backward)
each = jax.jit(jax.vmap(gradient))(jnp.stack([x, x + 1]))
assert abs(each[1] - gradient(x + 1)).max() < 1e-4
shallow, deep = longest_fusion(2), longest_fusion(4)
print(shallow, deep)
assert deep <= 1.1 * shallow, (shallow, deep)
"""


@pytest.mark.release
@pytest.mark.parametrize("block", ["pre_norm", "macaron"])
def test_no_branch_computes_those_above_it_again(block):
    """Without the barrier the longest fused computation of four layers is about twice that of two."""
    python("-c", ON_JAX, block, KERAS_BACKEND="jax", JAX_PLATFORMS="cpu")
