"""Classifiers, of pairs and of sentences, too, and taggers against their equations."""

import math

import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from tests import oracles, star_oracles, transformer_oracles
from tests.models import settings
from tests.models.cases import CASES, TARGETS, stack, text, texts
from tests.oracles import numpy
from tests.weights import randomised
from zoo.check.laws import build, changed, lengths, token_ids
from zoo.depth import make_star_stack
from zoo.embeddings import SentenceEmbedding, TokenEmbedding
from zoo.models import Classifier, Encoder, PairClassifier, Pooling, Tagger
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


@pytest.mark.parametrize("star", [False, True])
def test_a_pair_is_two_summaries_and_what_is_between_them(star):
    model = PairClassifier(TARGETS, 3, make_star_stack(2, 6, 2)) if star else made("pair-classifier")
    inputs = texts(ROWS, 7, noise=5)
    inputs["second_lengths"] = inputs["second_lengths"][::-1].copy()  # 0, 3 and 7
    received = ops.convert_to_numpy(model(inputs))
    run = star_oracles.star(model.encoder) if star else transformer_oracles.stack(model.encoder)
    hidden, readout = transformer_oracles.affine(model.hidden), transformer_oracles.affine(model.readout)

    def summary(side, row):
        ids = inputs[f"{side}_ids"][row, : inputs[f"{side}_lengths"][row]]
        x = transformer_oracles.embed(ids, model.embedding, model.positions)
        return run(x)[1] if star else run(x).mean(axis=0) if len(ids) else np.zeros(6)

    for row in range(3):
        r, s = (summary(side, row) for side in ("first", "second"))
        expected = readout(np.maximum(hidden(np.concatenate([r, s, abs(r - s), r - s])), 0.0))
        np.testing.assert_allclose(received[row], expected, atol=1e-4)


def test_a_classifier_reads_the_mean_of_the_sentences():
    model = made("sentence-classifier")
    inputs = text(ROWS, 7, noise=5)
    inputs["token_ids"][0] = [4, 1, 5, 6, 12, 1, 1]  # three sentences: the last token begins none
    received = ops.convert_to_numpy(model(inputs))
    matrix, masks = numpy(model.embedding.matrix, model.embedding.masks)
    sentences = [[1, 1], [5, 6, 12], [4, 1]]  # the last first
    x = [sum(masks[min(j, 1)] * matrix[word] for j, word in enumerate(words)) for words in sentences]
    x = np.sqrt(6) * np.stack(x) + transformer_oracles.sinusoids(3, 6)
    expected = transformer_oracles.affine(model.readout)(transformer_oracles.stack(model.encoder)(x).mean(axis=0))
    np.testing.assert_allclose(received[0], expected, atol=1e-4)
    np.testing.assert_allclose(received[2], numpy(model.readout.bias)[0], atol=1e-6)
    assert lengths(ROWS)[2] == 0


def test_a_tagger_does_not_read_sentences():
    with pytest.raises(ValueError, match="SentenceEmbedding gives one vector for many of them.*Classifier"):
        Tagger(TARGETS, 3, make_star_stack(1, 6, 2), embedding=SentenceEmbedding(TARGETS, 6))


def test_labels_are_checked_and_signatures_are_the_table():
    with pytest.raises(ValueError, match="PairClassifier needs at least two labels, or 1.*num_labels=0"):
        PairClassifier(TARGETS, 0, make_star_stack(1, 6, 2))
    tables = {table.name: table for table in made("pair-classifier").signatures()}
    assert [spec.name for spec in tables["serving_default"].inputs] == ["first_text", "second_text"]
    assert [spec.shape for spec in tables["compare"].inputs] == [
        ("batch", "first_time"),
        ("batch",),
        ("batch", "second_time"),
        ("batch",),
    ]
    assert tables["compare"].outputs[0].shape == ("batch", 3)
    assert isinstance(made("sentence-classifier"), Classifier)
