"""Readers, on files of a few lines of our own."""

import gzip
import lzma
import re

import pytest

from zoo.data import babi, find_parallel, read_lines, running_text, sst, tagged, trec

TREES = [
    "(3 (2 The) (4 (3 fine) (2 (2 film) (2 .))))",
    "(1 (2 It) (0 (1 (2 is) (0 bad\\/1\u00a01)) (2 -RRB-)))",
    "(2 (2 Neutral) (3 Fine))",
]


STORY = (
    "1 Ann took the key.",
    "2 Ann went out.",
    "3 Where is the key? \tgarden\t1 2",
    "4 Bob slept.",
    "5 What do they carry?\tkey,map\t1",
    "1 Bob woke.",
    "2 Is Bob awake? \tyes\t1",
)


def write(path, *lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    data = "".join(f"{line}\n" for line in lines).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


def test_trec(tmp_path):
    questions = [f"What is {number} ?" for number in range(200)]
    write(tmp_path / "TREC.train", *(f"NUM:other {question}" for question in questions), "LOC:city What is 7 ?")
    write(tmp_path / "TREC.test", "LOC:city Where is Ulm ?", "ABBR:exp What is AI ?")
    assert trec(tmp_path, "test") == (["Where is Ulm ?", "What is AI ?"], ["LOC", "ABBR"])
    train, valid = (trec(tmp_path, split) for split in ("train", "valid"))
    assert sorted(train[0] + valid[0]) == sorted([*questions, "What is 7 ?"])
    assert not set(train[0]) & set(valid[0])  # a question that is asked twice is on one side
    assert 8 <= len(valid[0]) <= 35
    assert set(train[1] + valid[1]) == {"NUM", "LOC"}


@pytest.mark.parametrize("line", ["LOC city ?", "LOC:city", ":x y", ""])
def test_trec_refuses_other_lines(tmp_path, line):
    write(tmp_path / "TREC.test", "LOC:city Where is Ulm ?", line)
    with pytest.raises(ValueError, match="TREC.test:2: expected 'COARSE:fine question'"):
        trec(tmp_path, "test")


def test_sst_whole_sentences_and_phrases(tmp_path):
    write(tmp_path / "trees" / "train.txt.gz", *TREES)
    write(tmp_path / "trees" / "dev.txt", TREES[0])
    assert sst(tmp_path, "train") == (["the fine film .", "it is bad\\/1\u00a01 -rrb-"], ["positive", "negative"])
    phrases = dict(zip(*sst(tmp_path, "train", phrases=True), strict=True))
    assert phrases == {
        "fine": "positive",
        "fine film .": "positive",
        "the fine film .": "positive",
        "bad\\/1\u00a01": "negative",
        "is bad\\/1\u00a01": "negative",
        "is bad\\/1\u00a01 -rrb-": "negative",
        "it is bad\\/1\u00a01 -rrb-": "negative",
    }
    assert sst(tmp_path, "valid") == (["the fine film ."], ["positive"])
    assert sst(tmp_path, "train", classes=5) == (
        ["the fine film .", "it is bad\\/1\u00a01 -rrb-", "neutral fine"],
        ["positive", "negative", "neutral"],
    )
    fine = dict(zip(*sst(tmp_path, "train", phrases=True, classes=5), strict=True))
    assert fine["fine film ."] == "very-positive" and fine["is bad\\/1\u00a01 -rrb-"] == "very-negative"
    assert fine["the"] == fine["film ."] == "neutral" and len(fine) == 16
    with pytest.raises(ValueError, match="classes must be 2 .* or 5 .*received 3"):
        sst(tmp_path, "train", classes=3)
    write(tmp_path / "trees" / "test.txt", "no tree")
    with pytest.raises(ValueError, match="test.txt:1: expected a tree such as"):
        sst(tmp_path, "test")


def test_tagged_words_are_split_at_one_space_only(tmp_path):
    write(tmp_path / "dev.tsv.gz", "Dogs bark\tNOUN VERB", "1\u00a0000 \u2028\tNUM SYM")
    sentences, tags = tagged(tmp_path, "valid")
    assert sentences == ["Dogs bark", "1\u00a0000 \u2028"] and tags == ["NOUN VERB", "NUM SYM"]
    assert tagged(tmp_path, "dev") == (sentences, tags)


@pytest.mark.parametrize("line", ["Dogs bark\tNOUN", "Dogs  bark\tNOUN VERB", "Dogs", "\t", ""])
def test_tagged_refuses_words_without_tags(tmp_path, line):
    write(tmp_path / "pos.dev.tsv", "Dogs bark\tNOUN VERB", line)
    with pytest.raises(ValueError, match="pos.dev.tsv:2: expected 'words TAB tags'"):
        tagged(tmp_path, "pos.dev")


def test_running_text_is_cut_at_nine_tenths(tmp_path):
    text = "First:\n\n  a  b\n" + "x" * 84 + "\n"  # 100 characters
    (tmp_path / "input.txt").write_text(text)
    train, valid = (running_text(tmp_path, split) for split in ("train", "valid"))
    assert train + valid == text and len(train) == 90
    with pytest.raises(ValueError, match="splits train and valid; received 'test'"):
        running_text(tmp_path, "test")


def test_running_text_may_have_a_file_for_each_split(tmp_path):
    write(tmp_path / "train.txt.gz", "a", "", " b")
    write(tmp_path / "test.txt", "c")
    assert running_text(tmp_path, "train") == "a\n\n b\n" and running_text(tmp_path, "test") == "c\n"
    with pytest.raises(ValueError, match="looked for valid.txt"):
        running_text(tmp_path, "valid")


def test_what_is_missing_is_named(tmp_path):
    with pytest.raises(ValueError, match="There is no file .*TREC.train"):
        trec(tmp_path, "train")
    with pytest.raises(ValueError, match="looked for valid.tsv, valid.tsv.gz, valid.tsv.xz, val.tsv"):
        tagged(tmp_path, "valid")
    for read in (trec, sst):
        with pytest.raises(ValueError, match="split must be train, valid or test; received 'dev'"):
            read(tmp_path, "dev")


@pytest.mark.parametrize("name", ["TREC.train", "trees/train.txt", "train.tsv", "train.txt", "qa1_train.txt"])
def test_an_empty_file_is_told(tmp_path, name):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"")
    readers = {"TREC": trec, "trees": sst, "train.tsv": tagged, "train.txt": running_text, "qa1": babi}
    (read,) = (own for start, own in readers.items() if name.startswith(start))
    with pytest.raises(ValueError, match=f"{name} is empty; expected at least one line"):
        read(tmp_path, "train")


def test_a_split_without_an_example_is_told(tmp_path):
    write(tmp_path / "TREC.train", "LOC:other Where is it ?")
    with pytest.raises(ValueError, match="TREC.train has no example for the split valid; expected at least one"):
        trec(tmp_path, "valid")
    (tmp_path / "trees").mkdir()
    write(tmp_path / "trees" / "train.txt", "(2 so)")
    with pytest.raises(ValueError, match="train.txt has no example for the split train"):
        sst(tmp_path, "train")


@pytest.mark.parametrize("line", ["(3 (2 a) (4 hit)", "(7 (2 b) (2 c))", "a text"])
def test_sst_refuses_what_is_no_tree(tmp_path, line):
    (tmp_path / "trees").mkdir()
    (tmp_path / "trees" / "train.txt").write_text(f"(1 (2 c))\n{line}\n(3 (2 d))\n")
    with pytest.raises(ValueError, match="train.txt:2: expected a tree"):
        sst(tmp_path, "train")


def test_a_text_of_babi_is_the_story_so_far_and_the_question(tmp_path):
    write(tmp_path / "en-valid-10k" / "qa2_train.txt.gz", *STORY)
    write(tmp_path / "en-valid" / "qa2_train.txt", STORY[0], STORY[2])
    write(tmp_path / "en-valid" / "qa2_test.txt", *STORY[5:])
    texts, answers = babi(tmp_path, "train", 2)
    assert texts == [
        "Ann took the key. Ann went out. Where is the key?",
        "Ann took the key. Ann went out. Bob slept. What do they carry?",
        "Bob woke. Is Bob awake?",
    ]
    assert answers == ["garden", "key,map", "yes"]
    assert babi(tmp_path, "test", 2) == (["Bob woke. Is Bob awake?"], ["yes"])
    write(tmp_path / "qa7_valid.txt", *STORY[5:])
    assert babi(tmp_path, "valid", 7) == babi(tmp_path, "test", 2)


def test_several_tasks_of_babi_follow_each_other(tmp_path):
    write(tmp_path / "qa1_test.txt", *STORY[:3])
    write(tmp_path / "qa7_test.txt", *STORY[5:])
    one, seven = babi(tmp_path, "test", 1), babi(tmp_path, "test", 7)
    assert babi(tmp_path, "test", [7, 1]) == (seven[0] + one[0], seven[1] + one[1])
    with pytest.raises(ValueError, match="No test split of task 2 in"):
        babi(tmp_path, "test", [1, 2])


@pytest.mark.parametrize("line", ["Ann went out.", "2", "2 \tyes\t1", "2 Is Bob awake?\t \t1", ""])
def test_babi_refuses_other_lines(tmp_path, line):
    write(tmp_path / "qa1_test.txt", "1 Bob woke.", line)
    with pytest.raises(ValueError, match="qa1_test.txt:2: expected 'NUMBER sentence' or"):
        babi(tmp_path, "test")


def test_what_is_missing_of_babi_is_named(tmp_path):
    with pytest.raises(ValueError, match="No valid split of task 3 in .*looked for qa3_valid.txt, qa3_valid.txt.gz"):
        babi(tmp_path, "valid", 3)
    for task in (0, 21, "1", [1, 21], [], [2, 2], [True]):
        with pytest.raises(ValueError, match=f"from 1 to 20, or several .*; received {re.escape(repr(task))}"):
            babi(tmp_path, "train", task)


def write_bytes(path, data):
    compressed = {".gz": gzip.compress, ".xz": lzma.compress}.get(path.suffix, bytes)
    path.write_bytes(compressed(data))
    return path


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz"])
def test_reads_lines(tmp_path, suffix):
    """What Unicode takes for the end of a line is a part of it, and a byte order mark is no text."""
    lines = write_bytes(tmp_path / f"a.de{suffix}", "\ufeffeins\u2028a\nzwei\x0b\x85b\n".encode())
    assert read_lines(lines) == ["eins\u2028a", "zwei\x0b\x85b"]
    assert read_lines(write_bytes(tmp_path / f"a.en{suffix}", b"one\r\ntwo")) == ["one", "two"]


def test_refuses_an_empty_file(tmp_path):
    with pytest.raises(ValueError, match=r"empty\.gz is empty; expected at least one line"):
        read_lines(write_bytes(tmp_path / "empty.gz", b""))


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz"])
def test_names_the_byte_that_is_not_utf8(tmp_path, suffix):
    path = write_bytes(tmp_path / f"latin{suffix}", "gut\nö Mä".encode() + b"\xe4rz\n")
    expected = r"latin(\.gz|\.xz)?:2: byte 6 of the line \(byte 10 of the text\) is 0xe4"
    with pytest.raises(ValueError, match=expected):
        read_lines(path)


def test_names_a_missing_file(tmp_path):
    with pytest.raises(ValueError, match=r"no file .*nowhere\.de"):
        read_lines(tmp_path / "nowhere.de")


@pytest.mark.parametrize("damage", ["plain", "cut", "changed"])
def test_refuses_a_broken_gzip_file(tmp_path, damage):
    whole = gzip.compress(b"a line\n" * 500)
    changed = whole[:12] + bytes([whole[12] ^ 255]) + whole[13:]
    data = {"plain": b"a line\n", "cut": whole[:-9], "changed": changed}[damage]
    path = tmp_path / "broken.gz"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=r"broken\.gz is not a whole gzip file"):
        read_lines(path)


@pytest.mark.parametrize(
    ("split", "stored"),
    [("train", "train"), ("valid", "val"), ("test", "test_2016_flickr"), ("extra", "extra")],
)
def test_finds_a_split_under_its_names(tmp_path, split, stored):
    source = write_bytes(tmp_path / f"{stored}.de.xz", b"1\n")
    target = write_bytes(tmp_path / f"{stored}.en", b"1\n")
    assert find_parallel(tmp_path, split, "de", "en") == (source, target)


def test_both_files_have_the_same_name(tmp_path):
    write_bytes(tmp_path / "valid.de", b"1\n")
    pair = write_bytes(tmp_path / "val.de", b"1\n"), write_bytes(tmp_path / "val.en", b"1\n")
    assert find_parallel(tmp_path, "valid", "de", "en") == pair


def test_says_what_it_looked_for_and_what_is_there(tmp_path):
    write_bytes(tmp_path / "dev.en", b"1\n")
    expected = r"looked for valid\.\{de,en\}\[\.gz\|\.xz\], val\..*, dev\..*; found dev\.en\."
    with pytest.raises(ValueError, match=expected):
        find_parallel(tmp_path, "valid", "de", "en")
    with pytest.raises(ValueError, match="no such directory"):
        find_parallel(tmp_path / "none", "valid", "de", "en")
