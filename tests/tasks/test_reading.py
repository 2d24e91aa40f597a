"""A text is read in training and evaluation as an artefact reads it: what SentencePiece makes of the whole text."""

import pytest

from zoo.tasks import TASKS
from zoo.text import Tokenizer

KNOWN = ["pay my bill now", "call my bank now", "pay the bank"] * 4
TEXTS = ["pay my bill", "pay zyx qqq vvv bill", "zyx qqq", "qqq", "pay 日本 zyx my 語 語", "bill zyx"]


@pytest.mark.parametrize("task", ["classify", "compare"])
@pytest.mark.parametrize("pieces", ["word", "unigram", "bpe", "char"])
def test_the_words_of_a_text_are_those_of_the_whole(task, pieces):
    tokenizer = Tokenizer.train(KNOWN, 40, model_type=pieces)
    for text in TEXTS:
        words = TASKS[task].words(tokenizer, text)
        assert len(words) == len(text.split())
        assert sum(words, []) == tokenizer.encode([text])[0], text
