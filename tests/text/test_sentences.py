"""What ends a sentence."""

import pytest

from zoo.text import Tokenizer, sentence_ends

STORY = "Mary went home. Where is Mary? John went home! Is John there?"


def test_stops_and_question_marks_are_pieces_of_their_own():
    tokenizer = Tokenizer.train([STORY] * 3, 90, model_type="bpe")
    ends = sentence_ends(tokenizer.pieces)
    assert [tokenizer.pieces[id_] for id_ in tokenizer.encode([STORY])[0] if ends[id_]] == [".", "?", "!", "?"]
    assert len(ends) == tokenizer.vocab_size and ends.sum() == 3


def test_a_vocabulary_without_them_is_refused():
    with pytest.raises(ValueError, match='expected one of ., [?], !, received 2 .*source_pieces = "bpe"'):
        sentence_ends(["▁home.", "▁Mary"])
