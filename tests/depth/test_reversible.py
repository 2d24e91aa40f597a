"""Two streams: gradients are those of keeping everything, with losses that layers add, whatever is computed again."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import layers, ops

from tests import transformer_oracles
from tests.blocks.cases import make_block
from tests.shared import python
from tests.weights import of_policy, randomised
from zoo.attention import AdaptiveSpanAttention, LSHAttention, MultiHeadAttention
from zoo.attention.lsh import hash_vectors
from zoo.blocks import Macaron, PreNorm
from zoo.check.gradients import unseen_weights
from zoo.check.laws import check_causal, length_mask, sequences
from zoo.depth import ReversibleStack
from zoo.feedforward import ChunkedFeedForward, FeedForward

ROWS = ((1, 7), (2, 3))
X, MASK = sequences(ROWS, 7, 6), length_mask(ROWS, 7)
MEMORY = sequences(((5, 5), (6, 4)), 5, 6)
MEMORY_MASK = length_mask(((1, 5), (2, 4)), 5)


def attention(kind, seed):
    settings = {"num_buckets": 4, "chunk_length": 2, "resample": True, "seed": seed}
    return LSHAttention(6, 2, **settings) if kind == "lsh" else MultiHeadAttention(6, 2)


def made(activations, kind="lsh", cross=False, macaron=False, dropout=0.0, depth=3):
    """Stacks of the same arguments have the same weights."""

    def block(seed):
        parts = {
            "attention": attention(kind, seed),
            "feedforward": ChunkedFeedForward(FeedForward(6, 8, dropout=dropout, seed=50 + seed), 2),
            "cross_attention": MultiHeadAttention(6, 2) if cross else None,
        }
        if macaron:
            parts["first"] = FeedForward(6, 4)
        return (Macaron if macaron else PreNorm)(**parts, dropout=dropout, seed=10 * seed)

    stack = ReversibleStack([block(seed) for seed in range(depth)], activations)
    stack.build((None, None, 6), (None, None, 6))
    return randomised(stack, 3, 0.4)


def gradients(stack, compiled=False, training=True, dtype="float32"):
    """`[outputs, gradient of x (and of the memory), gradients of the weights]` for a random gradient of the outputs."""
    cross = stack.blocks[0].cross_attention is not None
    sources = [tf.constant(each, dtype) for each in ((X, MEMORY) if cross else (X,))]
    upstream = tf.constant(np.random.default_rng(4).normal(size=X.shape), dtype)

    def run(*sources):
        memory = {"memory": sources[1], "memory_mask": MEMORY_MASK} if cross else {}
        with tf.GradientTape() as tape:
            tape.watch(sources)
            outputs = stack(sources[0], mask=MASK, **memory, causal=True, training=training)
        weights = [weight.value for weight in stack.trainable_weights]
        return [outputs, *tape.gradient(outputs, [*sources, *weights], tf.cast(upstream, outputs.dtype))]

    run = tf.function(run, jit_compile=True, autograph=False) if compiled else run
    return [tf.convert_to_tensor(each).numpy() for each in run(*sources)]


def difference(found, expected):
    """Relative, over all gradients."""
    total = sum(
        np.square(one.astype("float64") - other).sum() for one, other in zip(found[1:], expected[1:], strict=True)
    )
    return np.sqrt(total / sum(np.square(other.astype("float64")).sum() for other in expected[1:]))


@pytest.fixture
def float64():
    keras.config.set_floatx("float64")
    yield
    keras.config.set_floatx("float32")


CONFIGURATIONS = [
    pytest.param({"kind": "multi_head"}, id="multi-head"),
    pytest.param({"cross": True, "dropout": 0.3}, id="lsh-cross-dropout"),
    pytest.param({"macaron": True, "dropout": 0.3}, id="lsh-macaron-dropout", marks=pytest.mark.slow),
]


@pytest.mark.slow
@pytest.mark.release(but=1)
@pytest.mark.parametrize("settings", CONFIGURATIONS)
@pytest.mark.parametrize("activations", ["checkpoint", "reversible"])
def test_gradients_are_those_of_keeping_everything(activations, settings, float64):
    """To the last digits of float64, with dropout, buckets drawn for the step, chunks, padding and a memory."""
    plain = made("plain", **settings)
    expected = gradients(plain, dtype="float64")
    found = gradients(made(activations, **settings), dtype="float64")
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-12)
    assert difference(found, expected) < 1e-9
    unseen, weights = unseen_weights(plain), plain.trainable_weights
    sources = expected[1 : -len(weights)]
    seen = [one for weight, one in zip(weights, expected[-len(weights) :], strict=True) if id(weight) not in unseen]
    assert all(np.abs(each).max() > 1e-6 for each in [*sources, *seen]), "every source and weight has a gradient"


@pytest.mark.slow
@pytest.mark.release(but=1)
@pytest.mark.parametrize("activations", ["checkpoint", "reversible"])
def test_buckets_are_those_of_the_forward_pass(activations, monkeypatch):
    """Nothing is hashed in the backward pass: in 16 bits it would find other buckets."""
    hashed = []

    def spy(x, rotations):
        hashed.append(x)
        return hash_vectors(x, rotations)

    monkeypatch.setattr("zoo.attention.lsh.hash_vectors", spy)
    gradients(made(activations))
    assert len(hashed) == 3


@pytest.mark.release
@pytest.mark.parametrize("activations", ["checkpoint", "reversible"])
def test_compiled_gradients_are_those_of_keeping_everything(activations, float64):
    settings = {"cross": True, "dropout": 0.3}
    expected = gradients(made("plain", **settings), compiled=True, dtype="float64")
    assert difference(gradients(made(activations, **settings), compiled=True, dtype="float64"), expected) < 1e-9


ON_JAX = """
import jax, numpy as np
from tests.depth import test_reversible as here

def gradients(stack):
    def loss(x, memory, trained, fixed):
        call = dict(mask=here.MASK, memory=memory, memory_mask=here.MEMORY_MASK, causal=True, training=True)
        outputs, fixed = stack.stateless_call(trained, fixed, x, **call)
        return (outputs * np.random.default_rng(4).normal(size=outputs.shape)).sum(), (outputs, fixed)
    values = [[v.value for v in group] for group in (stack.trainable_variables, stack.non_trainable_variables)]
    step = jax.jit(jax.value_and_grad(loss, (0, 1, 2), has_aux=True))
    (_, (outputs, fixed)), found = step(here.X, here.MEMORY, *values)
    assert any((one != other).any() for one, other in zip(fixed, values[1])), "seeds go on"
    return [np.asarray(each) for each in jax.tree.leaves([outputs, *found])]

expected = gradients(here.made("plain", cross=True, dropout=0.3))
for activations in ("checkpoint", "reversible"):
    assert here.difference(gradients(here.made(activations, cross=True, dropout=0.3)), expected) < 2e-6, activations
"""


@pytest.mark.release
def test_gradients_on_jax():
    python("-c", ON_JAX, KERAS_BACKEND="jax")


@pytest.mark.release
@pytest.mark.parametrize("backend", ["tensorflow", "jax"])
def test_depth_costs_no_memory(backend):
    """Temporary memory of the compiled step, by XLA's account; keeping everything costs three times as much."""
    from benchmarks.reformer_memory import elsewhere

    shallow, deep = (elsewhere(backend, "memory", depth, "reversible") for depth in (2, 8))
    assert deep <= 1.05 * shallow
    assert elsewhere(backend, "memory", 8, "plain") > 3 * deep


def test_two_streams_change_in_turn():
    """The paper's equations, with the sub-layers as they are."""
    stack = made("reversible", kind="multi_head", depth=2)
    first = second = X
    for block in stack.blocks:
        norms = block.norms
        first = first + block.attention(norms[0](second), value_mask=MASK)
        second = second + block.feedforward(norms[1](first))
    expected = ops.convert_to_numpy(stack.final_norm(first + second))
    for training in (False, True):
        np.testing.assert_allclose(stack(X, mask=MASK, training=training), expected, atol=1e-5)


def test_masks_of_dropout_differ_from_step_to_step_and_from_branch_to_branch():
    stack = made("reversible", kind="multi_head", dropout=0.5)
    drawn = [ops.convert_to_numpy(stack(X, training=True)) for _ in range(2)]
    assert not np.allclose(*drawn)
    pieces = stack._pieces(None, None, False, False, True)
    states = [tuple(np.array(each)) for piece in pieces for each in piece.values()[1] if each.shape == (2,)]
    assert len(set(states)) == len(states) >= 9
    later = {tuple(np.array(each)) for piece in pieces for each in piece.values()[1] if each.shape == (2,)}
    assert not later & set(states)


@pytest.mark.slow
def test_no_later_position_is_seen():
    stack = made("reversible")
    check_causal(lambda x: stack(x, causal=True, training=True), X)


@pytest.mark.slow
def test_mixed_precision_keeps_its_streams_in_float32():
    """A small step on a large stream is not lost, and gradients are those of keeping everything."""
    with of_policy("mixed_bfloat16"):
        stacks = {activations: made(activations, kind="multi_head") for activations in ("plain", "reversible")}
    found = {activations: gradients(stack) for activations, stack in stacks.items()}
    assert difference(found["reversible"], found["plain"]) < 5e-3
    for stack in stacks.values():
        assert stack(X).dtype == "bfloat16"
        streams = stack._enter(tf.constant(X, "bfloat16"))
        assert {each.dtype for each in streams} == {tf.float32}
    state = stack.start(2)
    assert stack.step(tf.constant(X[:, :1]), state)[0].dtype == "bfloat16"


class Statistics(layers.Layer):
    units = 6

    def __init__(self, layer, **kwargs):
        super().__init__(**kwargs)
        self.layer = layer

    def build(self, shape):
        self.layer.build(shape)

    def call(self, x, training=None):
        return self.layer(x, training=training)


@pytest.mark.parametrize("activations", ["checkpoint", "reversible"])
def test_what_cannot_run_twice_is_refused(activations):
    def stack(activations):
        return ReversibleStack(
            [PreNorm(MultiHeadAttention(6, 2), Statistics(layers.BatchNormalization()))], activations
        )

    recomputing = stack(activations)
    recomputing(X)
    with pytest.raises(ValueError, match='(?s)changes.*moving_mean.*activations="plain"'):
        recomputing(X, training=True)
    assert stack("plain")(X, training=True).shape == X.shape


def test_settings_are_checked():
    with pytest.raises(ValueError, match=r"cannot undo \['PostNorm'\].*PreNorm or Macaron"):
        ReversibleStack([make_block("pre_norm"), make_block("post_norm")])
    with pytest.raises(ValueError, match="expected one of .*'checkpoint'.*received 'none'"):
        ReversibleStack([make_block("pre_norm")], "none")
    with pytest.raises(ValueError, match="Unknown joined: expected one of .*received 'all'"):
        ReversibleStack([make_block("pre_norm")], joined="all")
    with pytest.raises(ValueError, match="has no cross_attention but was given a memory"):
        ReversibleStack([make_block("pre_norm")])(X, memory=MEMORY)
    with pytest.raises(ValueError, match="needs a memory"):
        ReversibleStack([make_block("pre_norm", cross=True)])(X, training=True)


def test_the_last_norm_may_read_both_streams():
    """`LN([a; b])` of the paper's streams, `Y_1 = X_1 + Attention(X_2)` and `Y_2 = X_2 + FeedForward(Y_1)`."""
    blocks = [PreNorm(MultiHeadAttention(6, 2), FeedForward(6, 8)) for _ in range(2)]
    stack = ReversibleStack(blocks, joined="both")
    stack.build((None, None, 6))
    randomised(stack)
    received = ops.convert_to_numpy(stack(X, mask=MASK))
    assert stack.compute_output_shape((2, 7, 6)) == received.shape == (2, 7, 12)
    for row, (_, length) in enumerate(ROWS):
        a = b = X[row, :length].astype("float64")
        for block in blocks:
            norms = [transformer_oracles.layer_norm(norm) for norm in block.norms]
            h = norms[0](b)
            a = a + transformer_oracles.multi_head(block.attention)(h, h)
            b = b + transformer_oracles.feed_forward(block.feedforward)(norms[1](a))
        expected = transformer_oracles.layer_norm(stack.final_norm)(np.concatenate([a, b], axis=-1))
        np.testing.assert_allclose(received[row, :length], expected, atol=2e-5)


class Penalty(layers.Layer):
    units = 6

    def call(self, x, training=None):
        self.add_loss(ops.sum(x))
        return x


@pytest.mark.slow(but=3)
@pytest.mark.parametrize("activations", ["checkpoint", "reversible"])
@pytest.mark.parametrize("chunked", [False, True])
def test_losses_that_layers_add_come_out_once_with_their_gradients(activations, chunked):
    """Such as the penalty of an adaptive span: as of a stack that keeps its activations."""
    found = {}
    for each in ("plain", activations):
        span = AdaptiveSpanAttention(6, 2, max_span=5, ramp=2, penalty=0.5, dynamic=True)
        wide = FeedForward(6, 8)
        wide = Penalty() if chunked else wide
        stack = ReversibleStack([PreNorm(span, ChunkedFeedForward(wide, 2) if chunked else wide)], each)
        stack(X, causal=True)
        if found:
            stack.set_weights(found["plain"][0])
        with tf.GradientTape() as tape:
            output = stack(X, causal=True, training=True)
            losses = [ops.convert_to_numpy(loss) for loss in stack.losses]
            total = ops.sum(output**2) + ops.sum(ops.stack(stack.losses))
        gradients = tape.gradient(total, [weight.value for weight in stack.trainable_weights])
        found[each] = stack.get_weights(), sum(losses), gradients
    assert found[activations][1] == pytest.approx(found["plain"][1], rel=1e-5) and found["plain"][1] > 0
    for one, other in zip(found[activations][2], found["plain"][2], strict=True):
        np.testing.assert_allclose(ops.convert_to_numpy(one), ops.convert_to_numpy(other), rtol=2e-3, atol=2e-4)
