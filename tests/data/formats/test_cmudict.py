"""Pronouncing dictionaries: every form in which CMU and the Montreal Forced Aligner write them."""

import gzip

import pytest

from tests.data.formats import write
from zoo.data.formats import detect, read, split_by_hash

NEW = """abandon AH0 B AE1 N D AH0 N
abbot AE1 B AH0 T # old, rare
abbot(2) AE1 B AO2 T
d'artagnan D AH0 R T AE1 NY AH0 N # foreign french
"""
OLD = """;;; # CMUdict  --  Major Version: 0.07b
;;; see http://example.org
!EXCLAMATION-POINT  EH2 K S K L AH0 M EY1 SH AH0 N P OY2 N T
#SHARP-SIGN  SH AA1 R P S AY1 N
A  AH0
A(1)  EY1
# a comment
"""


@pytest.mark.parametrize("name", ["cmudict.dict", "cmudict-0.7b", "cmudict.0.7a", "own.txt", "cmudict.dict.gz"])
@pytest.mark.parametrize(
    ("text", "words"),
    [
        (NEW.replace("NY ", "N Y "), ["abandon", "abbot", "abbot", "d'artagnan"]),
        (OLD, ["!EXCLAMATION-POINT", "#SHARP-SIGN", "A", "A"]),
    ],
)
def test_every_name_and_form(tmp_path, name, text, words):
    path = write(tmp_path / name, gzip.compress(text.encode()) if name.endswith("gz") else text)
    found = read(path, "pairs")
    assert found.inputs == words and detect(path, "pairs").format == "cmudict"
    assert all("#" not in phones and "  " not in phones for phones in found.answers)
    assert found.answers[1:3] == (["AE1 B AH0 T", "AE1 B AO2 T"] if "abbot" in words else ["SH AA1 R P S AY1 N", "AH0"])


def test_other_phones_by_the_suffix(tmp_path):
    path = write(tmp_path / "deutsch.dict", "Haus\t0.99\t0.2\th aʊ s\nHaus\t0.01\th aː s\nleer\nWeg(2)\tv ɛ k\n\n")
    found = read(path, "pairs")
    assert list(zip(found.inputs, found.answers, strict=True)) == [
        ("Haus", "h aʊ s"),
        ("Haus", "h aː s"),
        ("Weg", "v ɛ k"),
    ]
    assert found.notes == (f"examples without phones, left out: 1 (the first at {path}:3)",)
    with pytest.raises(ValueError, match="deutsch.dict:3: no phones behind the word in 'leer'"):
        read(path, "pairs", rules_off=["empty"])
    parts = split_by_hash(read(path, "pairs"), valid=0.3)
    assert not set(parts["train"].inputs) & set(parts["valid"].inputs)  # the variants of a word are on one side


@pytest.mark.parametrize(
    ("name", "text"),
    [("a.txt", "HH AH0 L\nW ER1 L D\n"), ("b.txt", "some words\nin lines\n"), ("c.txt", "a AH0\nb, B IY1.\n")],
)
def test_other_texts_are_no_dictionary(tmp_path, name, text):
    with pytest.raises(ValueError, match="the format is not known"):
        read(write(tmp_path / name, text), "pairs")


def test_lines_of_letters_and_phones_stay_line_aligned(tmp_path):
    letters, phones = write(tmp_path / "a.txt", "h o l\nw o l d\n"), write(tmp_path / "b.txt", "HH AH0 L\nW ER1 L D\n")
    assert read([letters, phones], "pairs").answers == ["HH AH0 L", "W ER1 L D"]
    assert read([phones, letters], "pairs").answers == ["h o l", "w o l d"]
    assert len(read([write(tmp_path / "a.dict", NEW), write(tmp_path / "b.dict", OLD)], "pairs")) == 8
