"""How common pieces are, by what a tokenizer's file says."""

import math

import pytest

from zoo.text import Tokenizer
from zoo.text.special import UNK

TEXTS = ["a cat sat on the mat", "the hat of the cat", "ein Haus am See"] * 30


@pytest.fixture(params=["unigram", "char", "word"])
def learnt(request):
    return Tokenizer.train(TEXTS, vocab_size=40, model_type=request.param)


def test_those_of_words_and_characters_are_their_shares(learnt):
    """SentencePiece's own probabilities: of whole words and characters the shares among all of them."""
    found = learnt.log_probabilities
    assert len(found) == learnt.vocab_size
    if learnt.pieces[4] == "\u2581the":  # 3 of 14 words, to which SentencePiece adds nothing
        assert found[4] == pytest.approx(math.log(3 / 15), abs=0.1)
    assert sum(math.exp(each) for each in found[4:]) == pytest.approx(1, abs=0.35)
    assert found[UNK] == min(found[4:]) - 10


def test_merges_have_the_probabilities_of_their_ranks():
    found = Tokenizer.train(TEXTS, vocab_size=40, model_type="bpe").log_probabilities
    assert found[4:8] == [-math.log(rank) for rank in (1, 2, 3, 4)]


def test_a_byte_is_as_rare_as_the_rarest_piece():
    tokenizer = Tokenizer.train(TEXTS, vocab_size=300, byte_fallback=True)
    found, pieces = tokenizer.log_probabilities, tokenizer.pieces
    assert found[pieces.index("<0x41>")] == min(
        each for each, piece in zip(found, pieces, strict=True) if piece[0] != "<"
    )
