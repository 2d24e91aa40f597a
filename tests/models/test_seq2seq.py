"""Seq2Seq against the papers' equations, its step protocol, and its settings."""

import re

import numpy as np
import pytest
from keras import ops

from tests import oracles
from tests.models.cases import SOURCES, TARGETS
from tests.weights import randomised
from zoo.check.laws import lengths, token_ids
from zoo.models import Seq2Seq
from zoo.recurrent import RecurrentEncoder

ROWS = ((1, 7), (2, 3), (3, 0))
SOURCE, LENGTHS = token_ids(ROWS, 7, SOURCES, noise=5), lengths(ROWS)


@pytest.mark.parametrize("attention", ["additive", "dot"])
def test_is_the_papers_model(models, attention):
    """RNNsearch: a GRU both ways, alignment from the state before the step, one softmax."""
    model = models(f"seq2seq-gru-1-{attention}")
    target = token_ids(((4, 5), (5, 5), (6, 5)), 5, TARGETS)
    inputs = {"source_ids": SOURCE, "source_lengths": LENGTHS, "target_ids": target}
    received = ops.convert_to_numpy(model(inputs))

    read, write = oracles.numpy(model.source_embedding.embeddings, model.target_embedding.embeddings)
    both = model.encoder.layers[0]
    forward, _ = oracles.from_keras("gru", both.forward_layer.cell)
    backward, _ = oracles.from_keras("gru", both.backward_layer.cell)
    hidden, finals = oracles.encode(forward, backward, read[SOURCE], LENGTHS, 5)

    bridge, readout = model.decoder.bridges[0], model.readout
    W_s, b_s, W_t, b_t, b = oracles.numpy(bridge.kernel, bridge.bias, readout.kernel, readout.bias, model.bias)
    step, _ = oracles.from_keras("gru", model.decoder.step_cell.cell)
    score = oracles.score_of(model.decoder.attention)
    for row, length in enumerate(LENGTHS):
        s = np.tanh(finals[0][row] @ W_s + b_s)
        for j, y in enumerate(write[target[row]]):
            context, _ = oracles.attend(score, s, hidden[row, :length])
            (s,) = step(np.concatenate([y, context]), (s,))
            t = np.tanh(np.concatenate([s, context, y]) @ W_t + b_t)
            np.testing.assert_allclose(received[row, j], write @ t + b, atol=1e-5)


def test_without_tanh_and_context_it_is_sutskevers_model():
    """The decoder goes on where the encoder ended, and its states are what the output matrix reads."""
    units = 4
    encoder = RecurrentEncoder(units, "gru", bidirectional=False)
    model = Seq2Seq(SOURCES, TARGETS, units, "gru", None, encoder=encoder, state_activation="linear")
    randomised(model)
    identity, nothing = np.eye(units, dtype="float32"), np.zeros((units, units), "float32")
    model.decoder.bridges[0].set_weights([identity, np.zeros(units)])
    model.readout.set_weights([np.concatenate([identity, nothing, nothing]), np.zeros(units)])
    target = token_ids(((4, 5), (5, 5), (6, 5)), 5, TARGETS)
    received = ops.convert_to_numpy(model({"source_ids": SOURCE, "source_lengths": LENGTHS, "target_ids": target}))
    read, write, b = oracles.numpy(model.source_embedding.embeddings, model.target_embedding.embeddings, model.bias)
    reads, _ = oracles.from_keras("gru", encoder.layers[0].cell)
    writes, _ = oracles.from_keras("gru", model.decoder.step_cell)
    for row, length in enumerate(LENGTHS):
        state = (np.zeros(units),)
        for x in read[SOURCE[row, :length]]:
            state = reads(x, state)
        last = state[0]
        for j, y in enumerate(write[target[row]]):
            state = writes(np.concatenate([y, last]), state)
            np.testing.assert_allclose(received[row, j], write @ state[0] + b, atol=1e-5)


def test_a_policy_reaches_every_part():
    model = Seq2Seq(SOURCES, TARGETS, 5, cell="lstm", num_layers=2, dtype="mixed_bfloat16")
    inputs = {"source_ids": SOURCE, "source_lengths": LENGTHS, "target_ids": SOURCE}
    assert ops.dtype(model(inputs)) == "float32"
    parts = [part for part in model._flatten_layers() if part is not model]
    assert {part.compute_dtype for part in parts} == {"bfloat16"}
    assert {weight.dtype for weight in model.trainable_weights} == {"float32"}


def test_the_output_matrix_is_the_embedding():
    model = Seq2Seq(SOURCES, TARGETS, 5)
    model.build()
    shapes = [tuple(weight.shape) for weight in model.trainable_weights]
    assert shapes.count((TARGETS, 5)) == 1
    assert (5, TARGETS) not in shapes


def test_signatures_are_the_table():
    table = {signature.name: signature for signature in Seq2Seq(SOURCES, TARGETS, 5).signatures()}
    assert set(table) == {"serving_default", "tokens", "greedy", "sample", "score"}

    def names(specs):
        return [(spec.name, spec.dtype, len(spec.shape)) for spec in specs]

    found = [("output_ids", "int32", 3), ("output_lengths", "int32", 2), ("scores", "float32", 2)]
    for name in ("tokens", "greedy"):
        assert names(table[name].inputs) == [("token_ids", "int32", 2), ("lengths", "int32", 1)]
        assert names(table[name].outputs) == found
    assert names(table["serving_default"].inputs) == [("text", "string", 1)]
    assert names(table["serving_default"].outputs) == [
        ("output_text", "string", 1),
        ("scores", "float32", 1),
    ]
    assert [name for name, _, _ in names(table["score"].inputs)] == [
        "source_ids",
        "source_lengths",
        "target_ids",
        "target_lengths",
    ]
    assert names(table["score"].outputs) == [("log_probs", "float32", 1)]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"attention": "bahdanau"}, "[None, 'additive', 'dot'], received 'bahdanau'"),
        ({"cell": "rnn"}, "['gru', 'gru_reset_before', 'lstm', 'simple_rnn'], received 'rnn'"),
        ({"num_layers": 0}, "num_layers must be at least 1. Received: 0"),
    ],
)
def test_settings_are_checked(settings, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        Seq2Seq(SOURCES, TARGETS, 5, **settings)
