"""The reader of bAbI, on a story of our own."""

import gzip
import re

import pytest

from zoo.data import babi

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


def test_a_text_is_the_story_so_far_and_the_question(tmp_path):
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


def test_several_tasks_follow_each_other(tmp_path):
    write(tmp_path / "qa1_test.txt", *STORY[:3])
    write(tmp_path / "qa7_test.txt", *STORY[5:])
    one, seven = babi(tmp_path, "test", 1), babi(tmp_path, "test", 7)
    assert babi(tmp_path, "test", [7, 1]) == (seven[0] + one[0], seven[1] + one[1])
    with pytest.raises(ValueError, match="No test split of task 2 in"):
        babi(tmp_path, "test", [1, 2])


@pytest.mark.parametrize("line", ["Ann went out.", "2", "2 \tyes\t1", "2 Is Bob awake?\t \t1", ""])
def test_other_lines_are_refused(tmp_path, line):
    write(tmp_path / "qa1_test.txt", "1 Bob woke.", line)
    with pytest.raises(ValueError, match="qa1_test.txt:2: expected 'NUMBER sentence' or"):
        babi(tmp_path, "test")


def test_what_is_missing_is_named(tmp_path):
    with pytest.raises(ValueError, match="No valid split of task 3 in .*looked for qa3_valid.txt, qa3_valid.txt.gz"):
        babi(tmp_path, "valid", 3)
    for task in (0, 21, "1", [1, 21], [], [2, 2], [True]):
        with pytest.raises(ValueError, match=f"from 1 to 20, or several .*; received {re.escape(repr(task))}"):
            babi(tmp_path, "train", task)
