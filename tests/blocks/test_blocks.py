"""The wirings: the papers' equations, one step at a time, sizes, and what does not fit together.

On JAX the gradient of a residual stream is that of a forward derivative, and its program as long as the stack.
"""

import numpy as np
import pytest
from keras import ops

from tests import transformer_oracles
from tests.blocks.cases import BLOCKS, make_block
from tests.shared import python
from tests.weights import randomised
from zoo.attention import DotProductAttention, MultiHeadAttention
from zoo.blocks import Macaron, PreNorm
from zoo.check.laws import check_causal, length_mask, sequences
from zoo.feedforward import ChunkedFeedForward, FeedForward

ROWS = ((1, 7), (2, 3), (3, 0))
X, MASK = sequences(((4, 5),) * 3, 5, 6), length_mask(ROWS, 7)
MEMORY = sequences(ROWS, 7, 11, noise=5)


def made(name, cross=False, **settings):
    block = make_block(name, cross, **settings)
    block.build(X.shape, MEMORY.shape)
    return randomised(block, 3)


@pytest.mark.parametrize("name", BLOCKS)
def test_an_encoders_block_is_the_papers_equation(name):
    block = made(name)
    x = sequences(ROWS, 7, 6, noise=9)
    received = ops.convert_to_numpy(block(x, mask=MASK))
    for row, (_, length) in enumerate(ROWS):
        expected = transformer_oracles.BLOCKS[type(block).__name__](block)(x[row, :length].astype("float64"))
        np.testing.assert_allclose(received[row, :length], expected, atol=2e-5)


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("name", BLOCKS)
def test_a_decoders_block_is_the_papers_equation(name):
    block = made(name, cross=True)
    received = ops.convert_to_numpy(block(X, memory=MEMORY, memory_mask=MASK, causal=True))
    equation = transformer_oracles.BLOCKS[type(block).__name__](block)
    for row, (_, length) in enumerate(ROWS):
        expected = equation(X[row].astype("float64"), MEMORY[row, :length].astype("float64"), causal=True)
        np.testing.assert_allclose(received[row], expected, atol=2e-5)


@pytest.mark.parametrize("name", BLOCKS)
def test_a_prompt_leaves_the_keys_of_its_steps(name):
    """`prefill` = a causal pass; its keys are those that steps one by one collect."""
    block = made(name)
    outputs, cache = block.prefill(X)
    np.testing.assert_allclose(ops.convert_to_numpy(outputs), ops.convert_to_numpy(block(X, causal=True)), atol=1e-5)
    grown = block.attention.empty_cache(3, 0)
    for position in range(5):
        output, grown = block.step(X[:, position : position + 1], grown)
        np.testing.assert_allclose(
            ops.convert_to_numpy(output)[:, 0], ops.convert_to_numpy(outputs)[:, position], atol=1e-5
        )
    for part in ("keys", "values"):
        np.testing.assert_allclose(*map(ops.convert_to_numpy, (grown[part], cache[part])), atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("name", BLOCKS)
def test_dropout_is_on_every_branch_in_training_only(name):
    """Dropped entirely, nothing is added: the stream goes through, with a norm after each branch or none."""
    block, still = made(name, True, dropout=0.999999, seed=3), made(name, True)
    inputs = {"memory": MEMORY, "causal": True}
    np.testing.assert_array_equal(*(ops.convert_to_numpy(one(X, **inputs)) for one in (block, still)))
    received = ops.convert_to_numpy(block(X, **inputs, training=True))
    expected = X.astype("float64")
    for norm in block.norms if name == "post_norm" else ():
        expected = transformer_oracles.layer_norm(norm)(expected)
    np.testing.assert_allclose(received, expected, atol=1e-5)


def test_parts_of_a_seed_drop_differently():
    seeds = [drop.seed for drop in make_block("macaron", True, dropout=0.1, seed=3).dropout_layers]
    assert len(set(seeds)) == 4


def test_any_positionwise_layer_fits():
    dense = made("pre_norm")
    chunked = PreNorm(MultiHeadAttention(6, 2), ChunkedFeedForward(FeedForward(6, 8), 3))
    chunked.build(X.shape)
    chunked.set_weights(dense.get_weights())
    np.testing.assert_allclose(*(ops.convert_to_numpy(block(X)) for block in (dense, chunked)), atol=1e-5)


def test_any_attention_fits():
    block = PreNorm(DotProductAttention(6), FeedForward(6, 8))
    check_causal(lambda x: block(x, causal=True), X)


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("name", BLOCKS)
def test_a_memory_and_cross_attention_belong_together(name):
    with pytest.raises(ValueError, match="has no cross_attention but was given a memory.*Expected a memory exactly"):
        make_block(name)(X, memory=MEMORY)
    with pytest.raises(ValueError, match="needs a memory.*Expected a memory exactly"):
        make_block(name, cross=True)(X)


@pytest.mark.parametrize("wrong", ["attention", "feedforward", "cross_attention", "first"])
def test_units_must_agree(wrong):
    sizes = {name: 16 if name == wrong else 8 for name in ("attention", "feedforward", "cross_attention", "first")}
    with pytest.raises(ValueError, match=f"same units.*Received: .*{wrong}=16"):
        Macaron(
            FeedForward(sizes["first"], 8),
            MultiHeadAttention(sizes["attention"], 2),
            FeedForward(sizes["feedforward"], 8),
            MultiHeadAttention(sizes["cross_attention"], 2),
        )


@pytest.mark.parametrize("name", BLOCKS)
def test_a_stream_of_another_width_is_refused(name):
    with pytest.raises(ValueError, match=r"expected \(batch, time, 6\).*Received: \(4, 5, 7\).*the same units"):
        make_block(name)(np.ones((4, 5, 7), "float32"))


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
