"""The classifier of pairs, and one that reads sentences, against their equations."""

import numpy as np
import pytest
from keras import ops

from tests import star_oracles, transformer_oracles
from tests.models.cases import CASES, TARGETS, text, texts
from tests.oracles import numpy
from zoo.check.laws import build, lengths
from zoo.depth import make_star_stack
from zoo.embeddings import SentenceEmbedding
from zoo.models import Classifier, PairClassifier, Tagger

ROWS = ((1, 7), (2, 3), (3, 0))


def made(name):
    (case,) = [case for case in CASES if case.name == name]
    return build(case).layer


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
