"""The named cells are the papers' equations."""

import numpy as np
import pytest
from keras import ops

from tests import oracles
from tests.recurrent.cases import CELLS
from tests.weights import randomised
from zoo.check.laws import length_mask, sequences
from zoo.recurrent import make_cell, make_layer


@pytest.mark.parametrize("name", CELLS)
def test_a_step_is_the_papers_equation(name):
    cell = make_cell(name, 5, dtype="float64")
    cell.build((None, 3))
    randomised(cell, scale=0.7)
    step, count = oracles.from_keras(name, cell)
    generator = np.random.default_rng(2)
    x = generator.normal(size=(7, 3))
    states = [generator.normal(size=(7, 5)) for _ in range(count)]
    output, after = cell(x, states)
    after = [ops.convert_to_numpy(leaf) for leaf in (after if count > 1 else [after[0]])]
    for row in range(7):
        expected = step(x[row], tuple(state[row] for state in states))
        np.testing.assert_allclose(ops.convert_to_numpy(output)[row], expected[0], atol=1e-12)
        for leaf, one in zip(after, expected, strict=True):
            np.testing.assert_allclose(leaf[row], one, atol=1e-12)


@pytest.mark.parametrize("name", CELLS)
def test_a_padded_sequence_is_its_steps(name):
    layer = make_layer(name, 5, return_sequences=True, return_state=True, zero_output_for_mask=True)
    rows = ((1, 7), (2, 3), (3, 0))
    inputs, mask = sequences(rows, 7, 3, noise=6), length_mask(rows, 7)
    layer(inputs, mask=mask)
    randomised(layer, scale=0.7)
    outputs, *finals = layer(inputs, mask=mask)
    step, count = oracles.from_keras(name, layer.cell)
    for row, (_, length) in enumerate(rows):
        expected, last = oracles.run(step, inputs[row, :length], (np.zeros(5),) * count)
        padded = np.zeros((7, 5))
        padded[:length] = np.reshape(expected, (length, 5))
        np.testing.assert_allclose(ops.convert_to_numpy(outputs)[row], padded, atol=1e-6)
        for final, one in zip(finals, last, strict=True):
            np.testing.assert_allclose(ops.convert_to_numpy(final)[row], one, atol=1e-6)


def test_the_two_reset_forms_differ():
    """One model only if the reset gate is open or the recurrence diagonal: names must not mix."""
    x, state = np.ones((1, 3), "float32"), np.linspace(-1, 1, 5, dtype="float32")[None]
    found = []
    for name in ("gru", "gru_reset_before"):
        cell = make_cell(name, 5)
        cell.build((None, 3))
        for weight in cell.weights:
            shape = weight.shape
            value = np.zeros(shape) if "bias" in weight.path else np.cos(np.arange(np.prod(shape)))
            weight.assign(value.reshape(shape))
        found.append(ops.convert_to_numpy(cell(x, [state])[0]))
    assert np.abs(found[0] - found[1]).max() > 0.01


def test_the_forget_gate_starts_open():
    cell = make_cell("lstm", 5)
    cell.build((None, 3))
    bias = ops.convert_to_numpy(cell.bias)
    np.testing.assert_array_equal(bias, np.repeat([0.0, 1.0, 0.0, 0.0], 5))


@pytest.mark.parametrize("make", [make_cell, make_layer])
def test_unknown_names_are_refused(make):
    with pytest.raises(ValueError, match="'gru', 'gru_reset_before', 'lstm', 'simple_rnn'.*'qrnn'"):
        make("qrnn", 5)
