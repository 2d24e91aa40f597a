"""Encoders: both directions over true lengths, stacks, and attention over their own states."""

import numpy as np
import pytest
from keras import ops
from keras.src.saving.serialization_lib import ObjectSharingScope

from tests import oracles
from tests.recurrent.cases import ATTENTIONS, CELLS
from tests.weights import randomised
from zoo.check.laws import length_mask, lengths, sequences
from zoo.recurrent import RecurrentDecoder, RecurrentEncoder, SelfAttentiveEncoder

ROWS = ((1, 7), (2, 3), (3, 1), (4, 0))
INPUTS, MASK = sequences(ROWS, 7, 3, noise=6), length_mask(ROWS, 7)


def prepared(encoder):
    encoder(INPUTS, mask=MASK)
    randomised(encoder, scale=0.7)
    return encoder


def both_ways(name, layer, inputs, units=5):
    forward, count = oracles.from_keras(name, layer.forward_layer.cell)
    backward, _ = oracles.from_keras(name, layer.backward_layer.cell)
    return oracles.encode(forward, backward, inputs, lengths(ROWS), units, count)


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("name", CELLS)
def test_two_layers_read_both_ways_over_the_true_lengths(name):
    encoder = prepared(RecurrentEncoder(5, name, num_layers=2))
    outputs, states = encoder(INPUTS, mask=MASK)
    expected, _ = both_ways(name, encoder.layers[0], INPUTS)
    expected, finals = both_ways(name, encoder.layers[1], expected)
    np.testing.assert_allclose(ops.convert_to_numpy(outputs), expected, atol=3e-6)
    for state, final in zip(states, finals, strict=True):
        np.testing.assert_allclose(ops.convert_to_numpy(state), final, atol=3e-6)


@pytest.mark.parametrize("name", CELLS)
def test_one_direction_stops_at_the_true_length(name):
    encoder = prepared(RecurrentEncoder(5, name, bidirectional=False))
    outputs, states = encoder(INPUTS, mask=MASK)
    step, count = oracles.from_keras(name, encoder.layers[0].cell)
    for row, (_, length) in enumerate(ROWS):
        ahead, last = oracles.run(step, INPUTS[row, :length].astype("float64"), (np.zeros(5),) * count)
        expected = np.zeros((7, 5))
        expected[:length] = np.reshape(ahead, (length, 5))
        np.testing.assert_allclose(ops.convert_to_numpy(outputs)[row], expected, atol=3e-6)
        for state, final in zip(states, last, strict=True):
            np.testing.assert_allclose(ops.convert_to_numpy(state)[row], final, atol=3e-6)


def test_no_mask_is_full_length():
    encoder = prepared(RecurrentEncoder(5, "lstm"))
    full = encoder(INPUTS, mask=np.ones_like(MASK))
    free = encoder(INPUTS)
    for one, other in zip((free[0], *free[1]), (full[0], *full[1]), strict=True):
        np.testing.assert_allclose(ops.convert_to_numpy(one), ops.convert_to_numpy(other), atol=1e-6)


@pytest.mark.parametrize("name", ATTENTIONS)
def test_states_attend_to_each_other(name):
    encoder = prepared(SelfAttentiveEncoder(RecurrentEncoder(5, "gru"), ATTENTIONS[name](7)))
    outputs, states = encoder(INPUTS, mask=MASK)
    hidden, finals = both_ways("gru", encoder.encoder.layers[0], INPUTS)
    score = oracles.score_of(encoder.attention)
    W, b = oracles.numpy(encoder.combine.kernel, encoder.combine.bias)
    expected = np.zeros_like(hidden)
    for row, (_, length) in enumerate(ROWS):
        for i in range(length):
            context, _ = oracles.attend(score, hidden[row, i], hidden[row, :length])
            expected[row, i] = np.tanh(np.concatenate([hidden[row, i], context]) @ W + b)
    np.testing.assert_allclose(ops.convert_to_numpy(outputs), expected, atol=3e-6)
    np.testing.assert_allclose(ops.convert_to_numpy(states[0]), finals[0], atol=3e-6)


@pytest.mark.slow
def test_dropout_is_between_layers_in_training_only():
    encoder = RecurrentEncoder(5, num_layers=2, dropout=0.5, seed=3)
    still = ops.convert_to_numpy(encoder(INPUTS, mask=MASK)[0])
    np.testing.assert_array_equal(ops.convert_to_numpy(encoder(INPUTS, mask=MASK)[0]), still)
    noisy = ops.convert_to_numpy(encoder(INPUTS, mask=MASK, training=True)[0])
    assert np.abs(noisy - still).max() > 0.01
    single = RecurrentEncoder(5, dropout=0.5)
    np.testing.assert_array_equal(
        ops.convert_to_numpy(single(INPUTS, training=True)[0]),
        ops.convert_to_numpy(single(INPUTS)[0]),
    )


def test_settings_are_checked():
    for make in (RecurrentEncoder, RecurrentDecoder):
        with pytest.raises(ValueError, match="num_layers must be at least 1.*0"):
            make(5, num_layers=0)
    with pytest.raises(ValueError, match="expected one of .*'lstm'.*received 'LSTM'"):
        RecurrentEncoder(5, cell="LSTM")


def test_many_are_read_from_one_file():
    """While a file is read, Keras knows an object by its `id`, and that of an object which is gone comes again."""
    with ObjectSharingScope():  # what `load_model` does
        encoders = [RecurrentEncoder(3, num_layers=4) for _ in range(25)]
    found = [direction for each in encoders for both in each.layers for direction in directions(both)]
    assert len({id(layer) for layer in found}) == 25 * 4 * 2


def directions(both):
    return both.forward_layer, both.backward_layer
