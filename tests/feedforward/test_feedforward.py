"""The position-wise network: the paper's equation, its chunked form, its settings."""

import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from tests import transformer_oracles
from tests.weights import randomised
from zoo.check.laws import sequences
from zoo.feedforward import ChunkedFeedForward, FeedForward

X = sequences(((1, 7), (2, 7)), 7, 5)


def made(layer, seed=3):
    layer(X)
    return randomised(layer, seed, 0.7)


@pytest.mark.parametrize("use_bias", [True, False])
@pytest.mark.parametrize("activation", ["relu", "gelu", "gelu_tanh", "silu"])
def test_is_the_papers_equation(activation, use_bias):
    layer = made(FeedForward(11, 13, activation, use_bias=use_bias))
    assert len(layer.weights) == 2 + 2 * use_bias
    received = ops.convert_to_numpy(layer(X))
    forward = transformer_oracles.feed_forward(layer)
    for row in range(2):
        np.testing.assert_allclose(received[row], forward(X[row].astype("float64")), atol=2e-5)


@pytest.mark.parametrize("chunks", [1, 2, 3, 7, 11])
def test_chunks_change_nothing(chunks):
    """Whether they divide the 7 positions or not, and where some chunks are all padding."""
    whole = made(FeedForward(5, 13))
    chunked = ChunkedFeedForward(whole, chunks)
    assert chunked.units == 5
    np.testing.assert_allclose(ops.convert_to_numpy(chunked(X)), ops.convert_to_numpy(whole(X)), atol=1e-6)


def test_gradients_of_chunks_are_those_of_the_whole():
    whole = made(FeedForward(5, 13))
    found = []
    for layer in (whole, ChunkedFeedForward(whole, 3)):
        with tf.GradientTape() as tape:
            x = tf.constant(X)
            tape.watch(x)
            outputs = layer(x, training=True)
        found.append(tape.gradient(outputs, [x, *(weight.value for weight in whole.trainable_weights)], X))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)


def test_chunks_drop_differently_and_the_same_in_the_gradient():
    """Where the output is a sum of hidden units that were kept, so is its gradient by a unit's bias."""
    layer = made(ChunkedFeedForward(FeedForward(1, 7, dropout=0.5, seed=3), 2))
    inner = layer.feedforward
    inner.hidden.kernel.assign(np.zeros((5, 7)))
    inner.output_projection.kernel.assign(np.ones((7, 1)))
    inner.output_projection.bias.assign(np.zeros(1))
    masks = []
    for unit in np.eye(7):
        inner.hidden.bias.assign(unit)
        for seed in (v for v in layer.variables if v.path.endswith("seed_generator_state")):
            seed.assign([3, 0])
        with tf.GradientTape() as tape:
            outputs = layer(X[:, :6], training=True)
        gradient = tape.gradient(outputs, inner.hidden.bias.value)
        masks.append(ops.convert_to_numpy(outputs)[..., 0])
        np.testing.assert_allclose(gradient.numpy() @ unit, masks[-1].sum(), atol=1e-5)
    masks = np.stack(masks)
    assert set(np.unique(masks)) == {0.0, 2.0}
    assert not np.array_equal(masks[:, :, :3], masks[:, :, 3:])


def test_a_chunk_is_as_long_as_it_should_be():
    """The widest activation has a third of the positions."""
    seen = []

    class Spy(FeedForward):
        def call(self, x, training=None):
            seen.append(x.shape[1])
            return super().call(x, training)

    ChunkedFeedForward(Spy(5, 13), 3)(X)
    assert seen == [3, 3, 3]


def test_dropout_is_on_the_hidden_units_in_training_only():
    layer = made(FeedForward(5, 211, dropout=0.5, seed=3))
    still = ops.convert_to_numpy(layer(X))
    np.testing.assert_array_equal(ops.convert_to_numpy(layer(X, training=False)), still)
    layer.hidden.kernel.assign(np.zeros((5, 211)))
    layer.hidden.bias.assign(np.ones(211))
    layer.output_projection.kernel.assign(np.full((211, 5), 1 / 211))
    layer.output_projection.bias.assign(np.zeros(5))
    kept = ops.convert_to_numpy(layer(X, training=True))
    assert abs(kept.mean() - 1) < 0.1 and kept.std() > 0.01
    np.testing.assert_allclose(kept * 211 / 2, np.round(kept * 211 / 2), atol=1e-3)


@pytest.mark.parametrize(("units", "hidden_units"), [(0, 3), (3, 0), (3, -1), (2.0, 3), (3, None)])
def test_sizes_are_checked(units, hidden_units):
    with pytest.raises(ValueError, match=f"positive integers.*units={units!r}, hidden_units={hidden_units!r}"):
        FeedForward(units, hidden_units)


def test_an_unknown_activation_is_refused():
    with pytest.raises(ValueError, match="rleu"):
        FeedForward(5, 13, "rleu")


@pytest.mark.parametrize("chunks", [0, -1, 2.0, None])
def test_chunks_are_checked(chunks):
    with pytest.raises(ValueError, match=f"positive number of chunks. Received: {chunks!r}"):
        ChunkedFeedForward(FeedForward(5, 13), chunks)
