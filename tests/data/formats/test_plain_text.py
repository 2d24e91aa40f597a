"""Plain text: lines with labels, pronouncing dictionaries in every form that is written, and folders of files."""

import gzip

import pytest

from tests.data.formats import json_lines, write
from zoo.data.formats import detect, read, split_by_hash

FAST = "__label__pos a good  film\n\n__label__neg\tnot good\nwarm and __label__pos kind\n  __label__a.b-c x __label__\n"
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


def test_labels_of_fasttext(tmp_path):
    path = write(tmp_path / "train.txt", FAST.replace(" __label__\n", "\n"))
    found = read(path, "labelled")
    assert detect(path, "labelled").format == "fasttext"
    assert found.inputs == ["a good  film", "not good", "warm and kind", "x"]
    assert found.answers == ["pos", "neg", "pos", "a.b-c"]


@pytest.mark.parametrize(
    ("line", "said"),
    [("__label__a __label__b two", ":3: 2 labels"), ("__label__a", ":3: no text"), ("__label__ x", ":3: no label")],
)
def test_lines_of_fasttext_that_are_no_example_are_told(tmp_path, line, said):
    path = write(tmp_path / "train.txt", f"__label__a x\n__label__b y\n{line}\n")
    with pytest.raises(ValueError, match=said):
        read(path, "labelled", rules_off=["empty"])


def test_labels_behind_the_texts_and_lines_without_one(tmp_path):
    path = write(tmp_path / "train.txt", "good __label__pos\nbad __label__neg\nno label\n")
    found = read(path, "labelled")
    assert found.inputs == ["good", "bad"] and found.answers == ["pos", "neg"]
    assert found.notes == (f"examples without a label, left out: 1 (the first at {path}:3)",)


def test_a_table_with_commas_is_no_fasttext(tmp_path):
    """Its labels were `pos,so` and `neg,not`, and its texts began with the second word."""
    path = write(tmp_path / "a.csv", "__label__pos,so good\n__label__neg,not good\n")
    assert read(path, "labelled").inputs == ["so good", "not good"]
    with pytest.raises(ValueError, match="a.txt: the format is not known .*--set data.format="):
        read(write(tmp_path / "a.txt", path.read_text()), "labelled")


def test_a_word_in_a_text_is_no_label(tmp_path):
    path = write(tmp_path / "train.tsv", "text\tlabel\nthe prefix is __label__\ta\nx__label__y\tb\n")
    assert read(path, "labelled").inputs == ["the prefix is __label__", "x__label__y"]


def test_a_file_for_each_label_is_not_taken_for_texts_and_labels(tmp_path):
    """The lines of rt-polarity.neg were the labels of those of rt-polarity.pos, where there were up to 100."""
    files = [write(tmp_path / f"rt.{name}", "".join(f"{name} {at}\n" for at in range(30))) for name in ("pos", "neg")]
    with pytest.raises(ValueError, match="30 different labels in 30 examples.* Of a file for each label make one"):
        read(files, "labelled")
    rare = write(tmp_path / "test.csv", "text,label\n" + "".join(f"text {at},label {at}\n" for at in range(150)))
    assert len(read(rare, "labelled", fewest_labels=1)) == 150, "a test may ask each of many labels once"


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


def test_a_folder_a_label(tmp_path):
    write(tmp_path / "pos/1_9.txt", "good\r\n\r\nfilm\n")
    write(tmp_path / "pos/2.txt.gz", gzip.compress(b"fine"))
    write(tmp_path / "neg/1", "bad")
    write(tmp_path / "README", "not a text")
    write(tmp_path / "neg/.DS_Store", b"\0\0\xff")
    write(tmp_path / ".git/config", b"\0\0\xff")
    found = read(tmp_path, "labelled")
    assert (found.inputs, found.answers) == (["bad", "good\n\nfilm", "fine"], ["neg", "pos", "pos"])
    assert found.where(1) == str(tmp_path / "pos/1_9.txt")
    assert found.notes == ("files beside the folders of the labels, left out: 1",)


def test_running_text_of_one_file_of_several_and_of_a_folder(tmp_path):
    one, two = write(tmp_path / "x/b.txt", "two\r\n\r\nlines"), write(tmp_path / "x/a/z.md", "\ufefffirst\n\n")
    assert read(one, "running").inputs == ["two\n\nlines\n"]
    assert read([one, two], "running").inputs == ["two\n\nlines\nfirst\n\n"]
    found = read(tmp_path / "x", "running")
    assert found.inputs == ["first\ntwo\n\nlines\n"] and found.answers == [""]
    assert detect(tmp_path / "x", "running").why.startswith("2 files, a/z.md, b.txt")


def test_running_text_of_records(tmp_path):
    path = write(tmp_path / "a.jsonl", json_lines([{"text": "a\nb"}, {"text": "c\n"}]))
    assert read(path, "running").inputs == ["a\nb\nc\n"]
    table = write(tmp_path / "a.csv", 'text\n"hello, you"\nworld\n')
    assert read(table, "running").inputs == ["hello, you\nworld\n"]


def test_a_file_beside_a_folder_is_not_said_to_be_missing(tmp_path):
    write(tmp_path / "films/pos/1", "good")
    more = write(tmp_path / "more.csv", "text,label\nfine,pos\n")
    with pytest.raises(ValueError, match="more.csv is a file, and no folder. Expected a folder of text files."):
        read([tmp_path / "films", more], "labelled")
