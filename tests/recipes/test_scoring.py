"""Scores by hand."""

import pytest

from zoo import recipes
from zoo.recipes.evaluation import joined


def test_exact_match_without_a_language():
    assert recipes.score(["a", "b", "c"], ["a", "b", "d"]) == {
        "sentences": 3,
        "exact_match": pytest.approx(200 / 3),
    }


def test_languages_get_bleu_with_their_tokeniser():
    pytest.importorskip("sacrebleu")
    sentence = ["the cat sat on the mat today"]
    english = recipes.score(sentence, sentence, "en")
    assert english["bleu"] == pytest.approx(100) and english["chrf"] == pytest.approx(100)
    assert "tok:13a" in english["bleu_signature"]
    # Brevity penalty alone: 6 of 7 words, every n-gram right.
    short = recipes.score(["the cat sat on the mat"], sentence, "en")
    assert short["bleu"] == pytest.approx(100 * 2.718281828 ** (1 - 7 / 6))
    chinese = recipes.score(["我今天很高兴"], ["我今天很高兴"], "zh")
    assert chinese["bleu"] == pytest.approx(100) and "tok:zh" in chinese["bleu_signature"]


def test_tokenised_texts_are_scored_as_they_are():
    pytest.importorskip("sacrebleu")
    texts = ["zwei männer , 20 jahre alt , gehen ."]
    scores = recipes.score(texts, texts, "de", tokenized=True)
    assert scores["bleu"] == pytest.approx(100) and "tok:none" in scores["bleu_signature"]
    glued = recipes.score(["zwei männer, 20 jahre alt, gehen."], texts, "de", tokenized=True)
    assert glued["bleu"] < 30  # the commas are words of their own in the reference alone


def testjoined_pieces():
    assert joined(["viel@@ er bü@@ sche", "ein an@@", "a @@b"], "@@ ") == ["vieler büsche", "ein an", "a @@b"]
    assert joined(["viel@@ er "], "") == ["viel@@ er "]


def test_buckets_of_source_length():
    sources = ["a", "a b c d e", "a b c d e f", "一二三四五六"]
    rows = recipes.score_by_length(sources[:3], ["x"] * 3, ["x", "y", "x"])
    assert rows == [
        {"from": 1, "to": 5, "sentences": 2, "exact_match": 50.0},
        {"from": 6, "to": 10, "sentences": 1, "exact_match": 100.0},
    ]
    assert recipes.score_by_length(sources[3:], ["x"], ["x"], source_language="zh")[0]["from"] == 6


def test_a_missing_output_is_refused():
    with pytest.raises(ValueError, match="as many outputs as references"):
        recipes.score(["a"], ["a", "b"])
