"""The decoder: where it starts, what it sees, and that it does not see ahead."""

import numpy as np
import pytest
from keras import ops

from tests import oracles
from tests.recurrent.cases import ATTENTIONS, CELLS
from tests.weights import randomised
from zoo.check.laws import length_mask, sequences
from zoo.recurrent import RecurrentDecoder

ROWS = ((1, 7), (2, 3))
VALUES, MASK = sequences(ROWS, 7, 11), length_mask(ROWS, 7)
INPUTS = sequences(((3, 5), (4, 5)), 5, 3)
STATES = [sequences(((seed, 1), (seed + 1, 1)), 1, 11)[:, 0] for seed in (5, 7)]


def prepared(cell="gru", attention=None, num_layers=1, states=1):
    decoder = RecurrentDecoder(5, cell, attention and ATTENTIONS[attention](2), num_layers)
    decoder(INPUTS, decoder.remember(VALUES, MASK, STATES[:states]))
    randomised(decoder, scale=0.7)
    return decoder, decoder.remember(VALUES, MASK, STATES[:states])


@pytest.mark.parametrize("name", CELLS)
def test_without_attention_every_step_sees_the_final_state(name):
    count = 2 if name == "lstm" else 1
    decoder, memory = prepared(name, states=count)
    received = ops.convert_to_numpy(decoder(INPUTS, memory))
    step, _ = oracles.from_keras(name, decoder.step_cell)
    for row in range(2):
        summary = STATES[0][row].astype("float64")
        states = []
        for bridge, state in zip(decoder.bridges, STATES[:count], strict=True):
            W, b = oracles.numpy(bridge.kernel, bridge.bias)
            states.append(np.tanh(state[row] @ W + b))
        inputs = [np.concatenate([y, summary]) for y in INPUTS[row].astype("float64")]
        outputs, _ = oracles.run(step, inputs, tuple(states))
        expected = [np.concatenate([output, summary]) for output in outputs]
        np.testing.assert_allclose(received[row], expected, atol=3e-6)


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("attention", [None, *ATTENTIONS])
def test_an_encoder_without_a_cell_state_can_start_an_lstm(attention):
    decoder, memory = prepared("lstm", attention, num_layers=2, states=1)
    assert [tuple(leaf.shape) for leaf in memory["initial"]] == [(2, 5)] * 4
    assert np.all(np.isfinite(ops.convert_to_numpy(decoder(INPUTS, memory))))


def test_every_beam_starts_alike():
    decoder, memory = prepared("lstm", "dot", num_layers=2, states=2)
    state = decoder.start(memory, 3)
    assert tuple(state["attention"].shape) == (2, 3, 7)
    for leaf, initial in zip(state["cells"], memory["initial"], strict=True):
        expected = np.repeat(ops.convert_to_numpy(initial)[:, None], 3, axis=1)
        np.testing.assert_array_equal(ops.convert_to_numpy(leaf), expected)


def test_steps_report_their_attention():
    decoder, memory = prepared("gru", "additive")
    _, state = decoder.step(INPUTS[:, :1], decoder.start(memory, 1), memory)
    weights = ops.convert_to_numpy(state["attention"])
    np.testing.assert_allclose(weights.sum(axis=-1), 1.0, atol=1e-6)
    assert not np.any(weights[:, 0][~MASK])
