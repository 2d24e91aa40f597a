"""The named cells are the papers' equations, with attention, too: the context comes from the state before the step."""

import threading

import keras
import numpy as np
import pytest
from keras import ops

from tests import oracles
from tests.recurrent.cases import ATTENTIONS, CELLS
from tests.weights import randomised
from zoo.check.laws import length_mask, sequences
from zoo.recurrent import AttentionCell, make_cell, make_layer


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


ROWS = ((1, 7), (2, 5), (3, 0))
VALUES, MASK = sequences(ROWS, 7, 11, noise=4), length_mask(ROWS, 7)
INPUTS = sequences(((4, 5), (5, 5), (6, 5)), 5, 3)


def recurrence(cell="gru", attention="additive", num_layers=1):
    inner = AttentionCell(make_cell(cell, 5, num_layers), ATTENTIONS[attention](2))
    rnn = keras.layers.RNN(inner, return_sequences=True)
    with rnn.cell.attending(VALUES, MASK):
        rnn(INPUTS)
    randomised(rnn, scale=0.7)
    return rnn


@pytest.mark.slow(but=7)
@pytest.mark.parametrize("attention", ATTENTIONS)
@pytest.mark.parametrize("name", CELLS)
def test_is_the_papers_equation(name, attention):
    rnn = recurrence(name, attention)
    with rnn.cell.attending(VALUES, MASK):
        received = ops.convert_to_numpy(rnn(INPUTS))
    step, count = oracles.from_keras(name, rnn.cell.cell)
    score = oracles.score_of(rnn.cell.attention)
    for row, (_, length) in enumerate(ROWS):
        states = (np.zeros(5),) * count
        for j, y in enumerate(INPUTS[row].astype("float64")):
            context, _ = oracles.attend(score, states[0], VALUES[row, :length].astype("float64"))
            states = step(np.concatenate([y, context]), states)
            expected = np.concatenate([states[0], context])
            np.testing.assert_allclose(received[row, j], expected, atol=3e-6)


def test_a_stack_is_queried_by_its_topmost_state():
    rnn = recurrence("lstm", num_layers=2)
    states = rnn.cell.get_initial_state(batch_size=3)
    states = keras.tree.map_structure(lambda leaf: leaf + 0.1, states)
    lower = [[leaf + 1.0 for leaf in states[0]], states[1]]
    upper = [states[0], [leaf + 1.0 for leaf in states[1]]]
    with rnn.cell.attending(VALUES, MASK):
        same, moved, first = (ops.convert_to_numpy(rnn.cell.align(one)[1]) for one in (lower, upper, states))
    np.testing.assert_array_equal(same, first)
    assert np.abs(moved - first).max() > 1e-3


def test_hypotheses_of_a_sentence_are_queries_of_one_memory():
    """Rows (sentence, beam) over the memory once = every beam with the memory on its own."""
    rnn = recurrence()
    beams = sequences(((7, 2), (8, 2), (9, 2)), 2, 5)
    with rnn.cell.attending(VALUES, MASK):
        context, weights = rnn.cell.align([ops.convert_to_tensor(beams.reshape(6, 5))])
        single = [rnn.cell.align([ops.convert_to_tensor(beams[:, k])]) for k in range(2)]
    assert tuple(weights.shape) == (3, 2, 7)
    for k, (one, shares) in enumerate(single):
        received = ops.convert_to_numpy(context).reshape(3, 2, 11)[:, k]
        np.testing.assert_allclose(received, ops.convert_to_numpy(one), atol=1e-6)
        received = ops.convert_to_numpy(weights)[:, k]
        np.testing.assert_allclose(received, ops.convert_to_numpy(shares)[:, 0], atol=1e-6)


@pytest.mark.slow
def test_keys_are_projected_once_per_sentence(monkeypatch):
    rnn = recurrence()
    calls = []
    project = type(rnn.cell.attention).project
    monkeypatch.setattr(
        type(rnn.cell.attention),
        "project",
        lambda self, value: calls.append(1) or project(self, value),
    )
    with rnn.cell.attending(VALUES, MASK):
        rnn(INPUTS)
    assert len(calls) == 1
    with rnn.cell.attending(VALUES, MASK, keys=project(rnn.cell.attention, VALUES)):
        rnn(INPUTS)
    assert len(calls) == 1


def test_outside_a_block_there_is_no_memory():
    rnn = recurrence()
    with pytest.raises(ValueError, match="without a memory to attend to.*cell.attending"):
        rnn(INPUTS)


def test_blocks_nest_and_end_even_after_an_error():
    rnn = recurrence()
    with rnn.cell.attending(VALUES, MASK):
        outer = rnn.cell.memory
        with pytest.raises(RuntimeError, match="inside"):
            with rnn.cell.attending(VALUES[:, :3]):
                assert rnn.cell.memory["values"].shape[1] == 3
                raise RuntimeError("inside")
        assert rnn.cell.memory is outer
    with pytest.raises(ValueError, match="without a memory"):
        _ = rnn.cell.memory


def test_a_block_binds_its_own_thread_only():
    rnn = recurrence()
    seen = []

    def look():
        try:
            seen.append(rnn.cell.memory)
        except ValueError:
            seen.append(None)

    with rnn.cell.attending(VALUES, MASK):
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
    assert seen == [None]
