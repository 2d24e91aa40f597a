"""A sentence as the sum of its words, each masked by its place; the last sentence first."""

import numpy as np
import pytest
from keras import ops

from tests.oracles import numpy
from zoo.embeddings import SentenceEmbedding

STOP, END = 5, 3  # of a sentence and of a text
TEXT = [7, 8, STOP, 9, 0, 10, 6, STOP, 7, STOP, END]


def made(longest=3, shortest=1):
    layer = SentenceEmbedding(11, 4, longest, shortest)
    layer.mark([int(id_ == STOP) for id_ in range(11)])
    layer.masks.assign(np.random.default_rng(1).normal(size=(longest, 4)))
    return layer


def run(layer, *texts, time=13):
    """The vectors of each text's sentences, less those that the mask leaves out."""
    ids, mask = np.full((len(texts), time), STOP, "int32"), np.zeros((len(texts), time), bool)
    for row, text in enumerate(texts):
        ids[row, : len(text)], mask[row, : len(text)] = text, True
    x, kept = (ops.convert_to_numpy(each) for each in layer(ids, mask=mask))
    assert x.shape[:2] == kept.shape == (len(texts), -(-time // layer.shortest))
    assert not x[~kept].any()
    return [x[row][kept[row]] for row in range(len(texts))]


def oracle(layer, sentences):
    """`sqrt(d) sum_j m_j * E w_j`, word by word."""
    matrix, masks = numpy(layer.matrix, layer.masks)
    summed = np.zeros((len(sentences), matrix.shape[1]))
    for s, words in enumerate(reversed(sentences)):
        for j, word in enumerate(words):
            summed[s] += masks[min(j, len(masks) - 1)] * matrix[word]
    return np.sqrt(matrix.shape[1]) * summed


def test_each_sentence_is_the_sum_of_its_masked_words():
    layer = made()
    several, one, nothing = run(layer, TEXT, [7, END], [])
    sentences = [7, 8, STOP], [9, 0, 10, 6, STOP], [7, STOP, END]  # what ends the text is no sentence
    np.testing.assert_allclose(several, oracle(layer, sentences), atol=1e-5)
    np.testing.assert_allclose(one, oracle(layer, [[7, END]]), atol=1e-5)
    assert nothing.shape == (0, 4)
    (unmarked,) = run(SentenceEmbedding(11, 4), [STOP, 7, STOP, END])
    assert len(unmarked) == 1


@pytest.mark.parametrize("time", [11, 14])
def test_a_text_with_too_many_sentences_loses_its_first(time):
    """Whatever the padding: eleven tokens have room for two of six."""
    layer = made(shortest=6)
    (found,) = run(layer, TEXT, time=time)
    np.testing.assert_allclose(found, oracle(layer, [[9, 0, 10, 6, STOP], [7, STOP, END]]), atol=1e-5)


@pytest.mark.parametrize(("spread", "least", "most"), [(1.0, 0.6, 0.8), (0.2, 0.1, 0.3), (0.0, 0.0, 1e-5)])
def test_a_new_layer_tells_the_order_of_words_by_its_spread_and_starts_at_variance_one(spread, least, most):
    """How far eight words are from the same ones back to front, as a share of how far they are from other words."""
    layer = SentenceEmbedding(400, 512, spread=spread)
    words = list(np.random.default_rng(0).permutation(400)[:16])
    there, back, other = (x[0] for x in run(layer, words[:8], words[7::-1], words[8:], time=8))
    assert least <= np.linalg.norm(there - back) / np.linalg.norm(there - other) <= most
    assert 0.7 < np.var([there, back, other]) < 1.4


def test_keras_implicit_mask_of_the_ids_is_obeyed():
    layer, text = made(), TEXT + [0, 0]
    ids, mask = np.array([text], "int32"), np.array([[True] * len(TEXT) + [False] * 2])
    expected = [ops.convert_to_numpy(each) for each in layer(ids, mask=mask)]
    masked = ops.convert_to_tensor(ids)
    masked._keras_mask = ops.convert_to_tensor(mask)
    for call in (lambda: layer(masked), lambda: layer(masked, None), lambda: layer(masked, mask=mask)):
        for found, wanted in zip(call(), expected, strict=True):
            np.testing.assert_array_equal(ops.convert_to_numpy(found), wanted)


@pytest.mark.parametrize("name", ["vocab_size", "units", "longest", "shortest"])
def test_sizes_are_positive_integers(name):
    with pytest.raises(ValueError, match=f"positive integer as {name}. Received: 0"):
        SentenceEmbedding(**({"vocab_size": 3, "units": 4} | {name: 0}))


@pytest.mark.parametrize("spread", [-0.1, float("nan"), float("inf"), "1"])
def test_a_spread_is_a_number_of_at_least_zero(spread):
    with pytest.raises(ValueError, match="spread of at least 0"):
        SentenceEmbedding(3, 4, spread=spread)
