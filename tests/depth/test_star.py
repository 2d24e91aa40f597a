"""The Star-Transformer against its algorithm, row by row over each one's true length."""

import keras
import numpy as np
import pytest
from keras import ops

from tests import star_oracles
from tests.weights import of_policy, randomised
from zoo.attention import MultiHeadAttention
from zoo.blocks import StarBlock
from zoo.check.laws import changed, length_mask, sequences
from zoo.depth import StarStack, make_star_stack

ROWS = ((1, 7), (2, 4), (3, 3), (4, 2), (5, 1), (6, 0))
X, MASK = sequences(ROWS, 7, 6, noise=5), length_mask(ROWS, 7)


def made(*args, **settings):
    stack = make_star_stack(*args, **settings)
    stack.build(X.shape)
    return randomised(stack, 3)


@pytest.mark.release(but=1)
@pytest.mark.parametrize("connections", ["star", "ring", "radical"])
@pytest.mark.parametrize("summary", [True, False])
def test_is_the_papers_algorithm(connections, summary):
    stack = made(3, 6, 2, summary=summary, connections=connections)
    states, read = (ops.convert_to_numpy(stack(X, mask=MASK, summary=which)) for which in (False, True))
    run = star_oracles.star(stack, connections)
    for row, (_, length) in enumerate(ROWS):
        expected = run(X[row, :length].astype("float64"))
        np.testing.assert_allclose(states[row, :length], expected[0], atol=1e-4)
        np.testing.assert_allclose(read[row], expected[1], atol=1e-4)


@pytest.mark.slow
def test_without_a_mask_all_positions_count():
    stack = made(2, 6, 2)
    x, mask = X[:1], np.ones((1, 7), bool)
    for summary in (False, True):
        bare, masked = (ops.convert_to_numpy(stack(x, mask=each, summary=summary)) for each in (None, mask))
        np.testing.assert_allclose(bare, masked, atol=1e-6)


@pytest.mark.parametrize("summary", [True, False])
def test_padding_may_stand_before_a_text_as_well(summary):
    """As in texts that Keras' `pad_sequences` has padded, on the left by default."""
    stack = made(2, 6, 2)
    expected = ops.convert_to_numpy(stack(X, mask=MASK, summary=summary))
    shifts = [7 - length for _, length in ROWS]
    x, mask = (np.stack([np.roll(row, n, axis=0) for row, n in zip(a, shifts, strict=True)]) for a in (X, MASK))
    found = ops.convert_to_numpy(stack(x, mask=mask, summary=summary))
    if summary:
        np.testing.assert_allclose(found, expected, atol=1e-5)
    else:
        np.testing.assert_allclose(found[mask], expected[MASK], atol=1e-5)


def reached(steps, connections, length):
    """Which states of a row change with its first position."""
    stack = made(steps, 6, 2, connections=connections)
    other = X[:1].copy()
    other[0, 0] += 1.0
    mask = np.arange(7)[None, :] < length
    relay = ops.convert_to_numpy(X[:1, :1]) * 0  # of its own, or the mean would tell all at once
    results = []
    for x in (X[:1], other):
        states, hub = x, relay
        for block in stack.blocks:
            states, hub = block(states, x, hub, mask=mask)
        results.append(ops.convert_to_numpy(states)[0, :length])
    return changed(results[1], results[0], -1).tolist()


@pytest.mark.slow
def test_news_reach_the_neighbours_first_and_then_everyone():
    assert reached(1, "star", 7) == [True, True, False, False, False, False, True]
    assert reached(1, "star", 5) == [True, True, False, False, True], "the ring closes behind the row's own length"
    assert reached(2, "star", 7) == [True] * 7
    assert reached(2, "ring", 7) == [True, True, True, False, False, True, True]
    assert reached(1, "radical", 7) == [True] + [False] * 6


@pytest.mark.slow
def test_mixed_precision_is_near():
    x, outputs = sequences(ROWS, 7, 64, noise=5), []
    exact = make_star_stack(2, 64, 4)
    exact.build(x.shape)
    with of_policy("mixed_bfloat16"):
        mixed = make_star_stack(2, 64, 4)
        mixed.build(x.shape)
    mixed.set_weights(exact.get_weights())
    for stack in (exact, mixed):
        outputs.append(ops.convert_to_numpy(ops.cast(stack(x, mask=MASK, summary=True), "float32")))
    np.testing.assert_allclose(*outputs, atol=0.1)
    assert mixed(x).dtype == "bfloat16"


def test_make_star_stack_says_it_all():
    stack = make_star_stack(3, 6, 2, dropout=0.3, seed=5)
    assert [block.relay_attention is None for block in stack.blocks] == [False] * 3
    assert len({drop.seed for block in stack.blocks for drop in block.dropout_layers}) == 6
    assert {drop.rate for block in stack.blocks for drop in block.dropout_layers} == {0.3}
    tagging = make_star_stack(3, 6, 2, summary=False)
    assert [block.relay_attention is None for block in tagging.blocks] == [False, False, True]
    assert all(block.relay_attention is None for block in make_star_stack(2, 6, 2, connections="ring").blocks)


@pytest.mark.slow
def test_dropout_is_in_training_only():
    stack = made(2, 6, 2, dropout=0.5, seed=3)
    still = ops.convert_to_numpy(stack(X, mask=MASK))
    np.testing.assert_array_equal(ops.convert_to_numpy(stack(X, mask=MASK, training=False)), still)
    assert np.abs(ops.convert_to_numpy(stack(X, mask=MASK, training=True)) - still).max() > 1e-2


def test_the_weights_of_an_attention_are_dropped_as_it_says():
    block = StarBlock(MultiHeadAttention(6, 2, dropout=0.9, seed=1))
    still, dropped = (ops.convert_to_numpy(block(X, X, X[:, :1], training=each)[0]) for each in (False, True))
    assert np.abs(dropped - still).max() > 1e-2


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: StarStack([]), "at least one StarBlock.*Received 0 blocks"),
        (lambda: StarStack([StarBlock(MultiHeadAttention(n, 2)) for n in (6, 8)]), r"same units.*\[6, 8\]"),
        (lambda: StarBlock(MultiHeadAttention(6, 2), MultiHeadAttention(8, 2)), "attention=6, relay_attention=8"),
        (lambda: make_star_stack(1, 6, 2, connections="wheel"), r"'ring', 'radical'\), received 'wheel'"),
        (lambda: StarBlock(*[MultiHeadAttention(6, 2)] * 2, connections="ring"), "no relay.*Expected"),
        (lambda: made(1, 6, 2)(X, causal=True), "cannot be causal.*take a Stack"),
    ],
)
def test_settings_are_checked(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_block_is_built_by_the_names_of_its_shapes():
    """As Keras does, in a functional model and out of a file."""
    block = StarBlock(MultiHeadAttention(6, 2), MultiHeadAttention(6, 2))
    block.build(states_shape=(None, None, 6), embeddings_shape=(None, None, 6), relay_shape=(None, 1, 6))
    assert block.built and block.count_params() == 2 * (4 * 6 * 6 + 4 * 6) + 2 * 2 * 6
    x, relay = keras.Input((None, 6)), keras.Input((1, 6))
    model = keras.Model([x, relay], StarBlock(MultiHeadAttention(6, 2), MultiHeadAttention(6, 2))(x, x, relay))
    assert [tuple(each.shape) for each in model([X, X[:, :1]])] == [(6, 7, 6), (6, 1, 6)]
