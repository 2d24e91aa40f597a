"""Features of pieces, subword regularisation and token dropout."""

import collections
import math

import numpy as np
import pytest

from tests.text.samples import CORPUS
from zoo.text import EOS, PAD, UNK, SubwordNoise, Tokenizer, sentence_ends, spelling_features

TEXTS = ["undoing undone doing done", "redoing redone do undo redo", "the doing of the undone"] * 9
WORDS = sorted(set(" ".join(TEXTS).split()))
STORY = "Mary went home. Where is Mary? John went home! Is John there?"


def same(pieces):
    """In which features two pieces agree."""
    table, _ = spelling_features(pieces, 1 << 30)
    return (table[0] == table[1]).tolist()


def test_features_are_ends_and_shape():
    assert same(["▁Walking", "▁Talking"]) == [False, True, False, False, False, True, True, True, True]
    assert same(["▁walk", "▁Walk"]) == [True, False] + 7 * [True]
    assert same(["▁walks", "▁walked"]) == [False, True, True, True, True, False, False, False, False]
    assert same(["▁2026", "▁1"])[1] and not same(["▁2026", "▁b2026"])[1]


def test_words_begin_where_sentencepiece_writes_a_space():
    tokenizer = Tokenizer.train(CORPUS, vocab_size=60)
    table, starts = spelling_features(tokenizer.pieces, 50)
    assert table.shape == (tokenizer.vocab_size, 9) and table.dtype == starts.dtype == np.int32
    assert (0 <= table).all() and (table < 50).all() and starts[PAD] == starts[EOS] == 1
    for ids in tokenizer.encode_words(["short", "tree", "dance"]):
        assert starts[ids].tolist() == [1] + [0] * (len(ids) - 1)


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.train(TEXTS, 40)


def draws(noise, sentence, count, room=1000):
    random = np.random.default_rng(3)
    return [noise(sentence, room, random) for _ in range(count)]


def test_words_are_spelt_in_other_ways_that_read_the_same(tokenizer):
    noise, sentence = SubwordNoise(tokenizer, WORDS), tokenizer.encode(WORDS)
    spelt = {tuple(map(tuple, words)) for words in draws(noise, sentence, 20)}
    assert len(spelt) > 5
    for words in spelt:
        assert [tokenizer.decode([list(word)])[0] for word in words] == tokenizer.decode(sentence)


def test_probabilities_are_those_of_the_model_to_the_power_alpha(tokenizer):
    word = "undoing"
    ways = tokenizer.segmentations(word, 3)
    assert [ids for ids, _ in ways][0] == tokenizer.encode([word])[0] and len(ways) > 1
    noise = SubwordNoise(tokenizer, [word], candidates=3, alpha=0.1)
    found = collections.Counter(tuple(words[0]) for words in draws(noise, [ways[0][0]], 4000))
    weights = [math.exp(0.1 * score) for _, score in ways]
    for (ids, _), weight in zip(ways, weights, strict=True):
        assert found[tuple(ids)] / 4000 == pytest.approx(weight / sum(weights), abs=0.03)


def test_a_sentence_stays_in_its_room(tokenizer):
    sentence = tokenizer.encode(WORDS)
    least = sum(map(len, sentence))
    noise = SubwordNoise(tokenizer, WORDS, alpha=0.0)
    assert all(sum(map(len, words)) <= least + 2 for words in draws(noise, sentence, 20, room=least + 2))
    assert draws(noise, sentence, 3, room=least) == [sentence] * 3


def test_tokens_are_hidden_at_the_given_rate():
    noise = SubwordNoise(None, [], candidates=1, dropout=0.25)
    assert noise.growth == 1.0
    tokens = [token for words in draws(noise, [[7, 8], [9]], 2000) for word in words for token in word]
    assert tokens.count(UNK) / len(tokens) == pytest.approx(0.25, abs=0.02)
    assert set(tokens) == {UNK, 7, 8, 9}


def test_other_kinds_of_model_know_one_spelling_only():
    tokenizer = Tokenizer.train(TEXTS, 30, model_type="bpe")
    assert tokenizer.segmentations("undone", 5) == [(tokenizer.encode(["undone"])[0], 0.0)]


@pytest.mark.parametrize("wrong", [{"candidates": 0}, {"alpha": -1}, {"dropout": 1.0}, {"growth": 0.5}])
def test_numbers_out_of_range_are_refused(tokenizer, wrong):
    with pytest.raises(ValueError, match="Expected candidates >= 1"):
        SubwordNoise(tokenizer, WORDS, **wrong)


def test_stops_and_question_marks_are_pieces_of_their_own():
    tokenizer = Tokenizer.train([STORY] * 3, 90, model_type="bpe")
    ends = sentence_ends(tokenizer.pieces)
    assert [tokenizer.pieces[id_] for id_ in tokenizer.encode([STORY])[0] if ends[id_]] == [".", "?", "!", "?"]
    assert len(ends) == tokenizer.vocab_size and ends.sum() == 3


def test_a_vocabulary_without_them_is_refused():
    with pytest.raises(ValueError, match='expected one of ., [?], !, received 2 .*source_pieces = "bpe"'):
        sentence_ends(["▁home.", "▁Mary"])
