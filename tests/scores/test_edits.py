"""Edit distances against their definition, and the error rates of SIGMORPHON 2020."""

import functools

import pytest
from hypothesis import given, strategies as st

from zoo.scores import edit_distances, transduction

SEQUENCES = st.lists(st.sampled_from("abc"), max_size=7)


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
    monkeypatch.setattr("zoo.scores.edits.AT_ONCE", 5)
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
