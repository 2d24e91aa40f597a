"""Classifier and tagger against their equations."""

import math

import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from tests import oracles, star_oracles, transformer_oracles
from tests.models import settings
from tests.models.cases import CASES, TARGETS, stack
from tests.weights import randomised
from zoo.check.laws import build, changed, lengths, token_ids
from zoo.embeddings import TokenEmbedding
from zoo.models import Classifier, Encoder, Pooling, Tagger
from zoo.recurrent import RecurrentEncoder, RecurrentReader

ROWS = ((1, 7), (2, 3), (3, 0))
INPUTS = {"token_ids": token_ids(ROWS, 7, TARGETS, noise=5), "lengths": lengths(ROWS)}


def made(name):
    (case,) = [case for case in (*CASES, *settings.CASES) if case.name == name]
    return build(case).layer


@pytest.mark.parametrize("name", ["classifier", "classifier-narrow-embedding", "universal-classifier"])
def test_a_classifier_reads_the_mean_of_the_states(name):
    """Over the text's own positions; an empty text has the bias alone."""
    model = made(name)
    received = ops.convert_to_numpy(model(INPUTS))
    assert received.shape == (3, 3)
    for row, (_, length) in enumerate(ROWS):
        expected = transformer_oracles.classifier(model, INPUTS["token_ids"][row, :length])
        np.testing.assert_allclose(received[row], expected, atol=1e-4)


@pytest.mark.slow
def test_a_tagger_reads_every_state():
    model = made("tagger")
    received = ops.convert_to_numpy(model(INPUTS))
    assert received.shape == (3, 7, 5)
    for row, (_, length) in enumerate(ROWS):
        expected = transformer_oracles.tagger(model, INPUTS["token_ids"][row, :length])
        np.testing.assert_allclose(received[row, :length], expected, atol=1e-4)


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("pooling", ["mean", "first"])
def test_an_encoder_pools_the_states(pooling, normalize):
    """Of the text's own positions; an empty text has zeros, normalised or not."""
    model = randomised(Encoder(TARGETS, stack("post_norm", 1), pooling=Pooling(pooling), normalize=normalize))
    received, states = ops.convert_to_numpy(model(INPUTS)), ops.convert_to_numpy(model.states(INPUTS))
    assert received.dtype == "float32" and received.shape == (3, 6) and states.shape == (3, 7, 6)
    for row, (_, length) in enumerate(ROWS):
        ids = INPUTS["token_ids"][row, :length]
        expected = np.zeros(6)
        if length:
            own = transformer_oracles.stack(model.encoder)(
                transformer_oracles.embed(ids, model.embedding, model.positions)
            )
            np.testing.assert_allclose(states[row, :length], own, atol=1e-4)
            expected = own.mean(axis=0) if pooling == "mean" else own[0]
            expected = expected / np.linalg.norm(expected) if normalize else expected
        np.testing.assert_allclose(received[row], expected, atol=1e-5)


def test_vectors_of_empty_texts_have_finite_gradients():
    """The length of a vector of zeros has none."""
    model = Encoder(TARGETS, stack("post_norm", 1), normalize=True)
    empty = {"token_ids": np.zeros((2, 4), "int32"), "lengths": np.array([0, 3], "int32")}
    with tf.GradientTape() as tape:
        loss = ops.sum(model(empty)[:, 0])
    for gradient in tape.gradient(loss, model.trainable_variables):
        assert np.isfinite(tf.convert_to_tensor(gradient).numpy()).all()


def test_an_encoder_takes_the_summary_of_a_star():
    star = made("star-classifier")
    model = Encoder(TARGETS, star.encoder, star.positions, star.embedding)
    received, run = ops.convert_to_numpy(model(INPUTS)), star_oracles.star(model.encoder)
    for row, (_, length) in enumerate(ROWS[:2]):
        x = transformer_oracles.embed(INPUTS["token_ids"][row, :length], star.embedding, star.positions)
        np.testing.assert_allclose(received[row], run(x)[1], atol=1e-4)


def read_both_ways(layer, x):
    """The outputs of one row, by the oracle of a bidirectional LSTM."""
    directions = layer.forward_layer, layer.backward_layer
    forward, backward = (oracles.from_keras("lstm", each.cell)[0] for each in directions)
    return oracles.encode(forward, backward, x[None], [len(x)], 4, 2)[0][0]


def test_a_recurrent_classifier_reads_the_mean_of_the_outputs_of_two_layers():
    """The embeddings have another width than the states, and no positions are added."""
    model = made("recurrent-classifier")
    received = ops.convert_to_numpy(model(INPUTS))
    first, second = model.encoder.encoder.layers
    for row, (_, length) in enumerate(ROWS):
        x = math.sqrt(3) * ops.convert_to_numpy(model.embedding.matrix)[INPUTS["token_ids"][row, :length]]
        states = read_both_ways(second, read_both_ways(first, x)) if length else np.zeros((1, 8))
        expected = transformer_oracles.affine(model.readout)(states.mean(axis=0))
        np.testing.assert_allclose(received[row], expected, atol=1e-5)


@pytest.mark.parametrize(("bidirectional", "reach"), [(True, "everything"), (False, "what is behind it")])
def test_what_a_state_of_a_recurrent_tagger_knows(bidirectional, reach):
    reader = RecurrentReader(RecurrentEncoder(4, bidirectional=bidirectional))
    model = randomised(Tagger(TARGETS, 5, reader, embedding=TokenEmbedding(TARGETS, 3)))
    before = ops.convert_to_numpy(model(INPUTS))[0]
    other = INPUTS["token_ids"].copy()
    other[0, 3] = (other[0, 3] + 1) % TARGETS
    after = ops.convert_to_numpy(model({**INPUTS, "token_ids": other}))[0]
    expected = [True] * 7 if reach == "everything" else [False] * 3 + [True] * 4
    np.testing.assert_array_equal(changed(after, before, -1), expected)


@pytest.mark.slow
def test_every_token_sees_both_ways():
    model = made("tagger")
    before = ops.convert_to_numpy(model(INPUTS))
    for position in range(7):
        other = INPUTS["token_ids"].copy()
        other[:, position] = (other[:, position] + 1) % TARGETS
        after = ops.convert_to_numpy(model({**INPUTS, "token_ids": other}))
        for row, (_, length) in enumerate(ROWS):
            seen = changed(after[row, :length], before[row, :length], -1)
            np.testing.assert_array_equal(seen, [position < length] * length)


@pytest.mark.parametrize(
    ("make", "num_labels"),
    [(Tagger, 1), *((make, n) for make in (Classifier, Tagger) for n in (0, -2, None, 2.5, "3"))],
)
def test_labels_are_checked(make, num_labels):
    with pytest.raises(ValueError, match=f"{make.__name__} needs at least two labels.*num_labels={num_labels!r}"):
        make(TARGETS, num_labels, stack("pre_norm", 1))


def test_one_label_is_a_number():
    model = Classifier(TARGETS, 1, stack("pre_norm", 1))
    found = ops.convert_to_numpy(model(INPUTS))
    states = ops.convert_to_numpy(model.summarise(INPUTS))
    kernel, bias = (ops.convert_to_numpy(weight) for weight in model.readout.weights)
    assert found.shape == (len(states),)
    np.testing.assert_allclose(found, states @ kernel[:, 0] + bias[0], rtol=1e-5, atol=1e-6)
    serving, rate = model.signatures()
    assert [spec.name for spec in serving.outputs] == ["rating", "rated"] and rate.outputs[0].shape == ("batch",)


def test_an_encoder_has_no_cross_attention():
    with pytest.raises(ValueError, match="needs a memory"):
        Tagger(TARGETS, 3, stack("pre_norm", cross=True))(INPUTS)


def test_signatures_are_the_table():
    tables = {name: {one.name: one for one in made(name).signatures()} for name in ("classifier", "tagger")}
    assert set(tables["classifier"]) == {"serving_default", "classify"}
    assert set(tables["tagger"]) == {"serving_default", "tag"}
    assert tables["classifier"]["classify"].outputs[0].shape == ("batch", 3)
    assert tables["tagger"]["tag"].outputs[0].shape == ("batch", "time", 5)
    offsets = [spec.name for spec in tables["tagger"]["serving_default"].outputs]
    assert offsets == ["tags", "starts", "ends", "scores", "word_counts"]


@pytest.mark.slow
def test_a_star_gives_a_classifier_its_summary_and_a_tagger_its_states():
    models = [(made("star-classifier"), 1), (made("star-tagger"), 0)]
    for model, part in models:
        received, run = ops.convert_to_numpy(model(INPUTS)), star_oracles.star(model.encoder)
        for row, (_, length) in enumerate(ROWS):
            ids = INPUTS["token_ids"][row, :length]
            if part:
                x = transformer_oracles.embed(ids, model.embedding, model.positions)
            else:
                x = math.sqrt(6) * ops.convert_to_numpy(model.embedding.matrix).astype("float64")[ids]
                x = star_oracles.concatenated(model.positions, x)
            expected = transformer_oracles.affine(model.readout)(run(x)[part])
            np.testing.assert_allclose(received[row] if part else received[row, :length], expected, atol=1e-4)
