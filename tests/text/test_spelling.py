"""Features of pieces."""

import numpy as np

from tests.text.samples import CORPUS
from zoo.text import EOS, PAD, Tokenizer, spelling_features


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
