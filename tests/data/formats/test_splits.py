"""Splits by hash, filters, duplicates and the data card, on small examples whose numbers are counted by hand."""

import hashlib
import json

import pytest

from tests.data.formats import write
from zoo.data.formats import Examples, card, duplicates, filter_by_length, read, split_by_hash, without
from zoo.data.formats.preparing import place_in_split

MANY = Examples("labelled", [f"text {number}" for number in range(2000)], [str(number % 3) for number in range(2000)])
COUNTS = {"train": 1630, "valid": 180, "test": 190}
DIGEST = "4e1e583032b0658f13eb9a1030a8c2e35f20d191714a480ad5a9a2bdd94880ba"
# printf "text 6" | sha256sum begins with 1b3e, 7 with 3fb6, and the other eight with more.
TINY = {"train": [f"text {number}" for number in (0, 1, 2, 3, 4, 5, 8, 9)], "valid": ["text 7"], "test": ["text 6"]}
PAIRS = Examples("pairs", ["a b", "a", "a b c d", "x  y", "e f"], ["c", "d e f g", "h i j k", "z", "g h"])


@pytest.mark.parametrize(
    ("text", "digest"),
    [
        ("Dogs bark", "a8c6"),
        ("日本語 é", None),
        (("first", "second"), None),
    ],
)
def test_places_are_those_of_sha256(text, digest):
    data = (text if isinstance(text, str) else "\t".join(text)).encode("utf-8")
    first = hashlib.sha256(data).hexdigest()
    assert place_in_split(text) == int(first[:16], 16) / 16**16
    assert digest is None or first.startswith(digest)


def test_the_split_stays_for_ever():
    """The digest of a split of fixed examples: a change here moves everybody's examples, and must not happen."""
    parts = split_by_hash(MANY, valid=0.1, test=0.1)
    assert {name: len(part) for name, part in parts.items()} == COUNTS
    told = "\n".join(f"{name}\t{text}" for name in ("train", "valid", "test") for text in parts[name].inputs)
    assert hashlib.sha256(told.encode()).hexdigest() == DIGEST
    tiny = split_by_hash(MANY.take(range(10)), valid=0.1, test=0.1)
    assert {name: part.inputs for name, part in tiny.items()} == TINY


def test_equal_inputs_are_on_one_side_and_nothing_is_lost():
    twice = Examples("labelled", MANY.inputs * 2, MANY.answers + ["other"] * len(MANY))
    parts = split_by_hash(twice, valid=0.2)
    assert list(parts) == ["train", "valid"] and sum(map(len, parts.values())) == 4000
    assert not set(parts["train"].inputs) & set(parts["valid"].inputs)
    assert 0.16 < len(parts["valid"]) / 4000 < 0.24


def test_examples_stay_where_they_are_when_others_come_or_the_validation_grows():
    before, after = split_by_hash(MANY.take(range(1000)), 0.1, 0.1), split_by_hash(MANY, 0.1, 0.1)
    assert all(set(before[name].inputs) <= set(after[name].inputs) for name in before)
    assert split_by_hash(MANY, 0.3, 0.1)["test"].inputs == after["test"].inputs
    assert split_by_hash(MANY, 0.0) == {"train": MANY}


@pytest.mark.parametrize("count", [3, 4, 7, 20, 100])
def test_a_small_file_has_a_part_of_at_least_half_its_share(count):
    for start in range(0, 500, 50):
        parts = split_by_hash(MANY.take(range(start, start + count)), 0.1, 0.2)
        assert len(parts["valid"]) >= max(1, 0.05 * count) and len(parts["test"]) >= max(1, 0.1 * count)
        assert len(parts["train"]) >= 1


def test_running_text_is_cut_at_lines():
    text = "".join(f"line {number}\n" for number in range(100))
    parts = split_by_hash(Examples("running", [text], [""]), valid=0.1, test=0.2)
    assert list(parts) == ["train", "valid", "test"]
    assert "".join(part.inputs[0] for part in parts.values()) == text
    assert all(part.inputs[0].endswith("\n") for part in parts.values())
    assert [round(len(part.inputs[0]) / len(text), 1) for part in parts.values()] == [0.7, 0.1, 0.2]
    with pytest.raises(ValueError, match="too few lines to be cut into train, valid"):
        split_by_hash(Examples("running", ["one line\n"], [""]))


@pytest.mark.parametrize(("valid", "test"), [(-0.1, 0), (0.5, 0.5), (1, 0)])
def test_shares_that_leave_nothing(valid, test):
    with pytest.raises(ValueError, match="shares from 0 on that leave some for training"):
        split_by_hash(MANY, valid, test)


def test_fewer_inputs_than_parts():
    with pytest.raises(ValueError, match="1 different input cannot be cut into train, valid"):
        split_by_hash(Examples("labelled", ["a", "a"], ["x", "y"]))


def test_filters_count_what_they_drop():
    kept, counts = filter_by_length(PAIRS, shortest=2, longest=3)
    assert kept.inputs == ["e f"]
    assert counts == {"read": 5, "kept": 1, "too short": 3, "too long": 1, "unequal lengths": 0}
    kept, counts = filter_by_length(PAIRS, ratio=2)
    assert kept.inputs == ["a b", "a b c d", "x  y", "e f"] and counts["unequal lengths"] == 1
    kept, counts = filter_by_length(PAIRS, longest=3, unit="characters")
    assert kept.inputs == ["a b", "e f"] and counts["too long"] == 3
    compared = Examples("compared", [("a b", "c"), ("d", "e f g")], ["1", "0"])
    assert filter_by_length(compared, longest=2)[0].inputs == [("a b", "c")]


@pytest.mark.parametrize(
    ("examples", "settings", "expected"),
    [
        (PAIRS, {"unit": "tokens"}, "one of words, characters; received 'tokens'"),
        (PAIRS, {"shortest": 3, "longest": 2}, "shortest <= longest"),
        (PAIRS, {"ratio": 0.5}, "at least 1; received 0.5"),
        (MANY, {"ratio": 2}, "ratio is for pairs"),
        (Examples("running", ["x"], [""]), {"longest": 2}, "Running text"),
    ],
)
def test_filters_that_make_no_sense(examples, settings, expected):
    with pytest.raises(ValueError, match=expected):
        filter_by_length(examples, **settings)


def test_duplicates_are_told_with_their_places(tmp_path):
    train = read(write(tmp_path / "train.csv", "text,label\none,a\ntwo,b\nthree,a\n"), "labelled")
    test = read(write(tmp_path / "test.csv", "text,label\nfour,a\ntwo,b\none,b\n"), "labelled")
    found = duplicates(train, test)
    first = [f"{tmp_path}/test.csv:{line} is {tmp_path}/train.csv:{other}" for line, other in ((3, 3), (4, 2))]
    assert found == {"count": 2, "share": 0.666667, "same_answer": 1, "first": first}
    assert without(train, test)[0].inputs == ["three"] and without(train, test)[1] == 2


def test_the_card_counts():
    train = Examples("labelled", ["a b", "a b c", "a"], ["x", "y", "x"], ("train.csv",), notes=("left out: 1",))
    test = Examples("labelled", ["a d d", "a"], ["x", "y"])
    found = card({"train": train, "test": test}, licence="CC BY 4.0")
    assert found == json.loads(json.dumps(found)) and found["licence"] == "CC BY 4.0"
    part = found["splits"]["train"]
    assert (part["examples"], part["files"], part["notes"]) == (3, ["train.csv"], ["left out: 1"])
    assert part["labels"] == {"x": 2, "y": 1}
    assert part["lengths"]["input"]["words"] == {"total": 6, "least": 1, "median": 2, "p90": 3, "p99": 3, "most": 3}
    assert part["lengths"]["input"]["characters"]["total"] == 9
    assert found["unseen"]["test"]["input"] == {
        "characters": {"different": 1, "share": 0.333333, "first": ["d"]},
        "words": {"different": 1, "share": 0.5, "first": ["d"]},
    }
    assert found["duplicates"]["test in train"]["count"] == 1


def test_the_card_of_pairs_tags_and_running_text():
    both = card({"train": PAIRS, "test": Examples("pairs", ["a z"], ["c"])})
    assert both["splits"]["train"]["lengths"]["answer"]["words"]["most"] == 4
    assert both["unseen"]["test"]["input"]["words"]["first"] == ["z"]
    assert both["unseen"]["test"]["answer"]["words"]["different"] == 0
    tagged = card({"train": Examples("tagged", ["a b", "c"], ["X Y", "X"])})
    assert tagged["splits"]["train"]["tags"] == {"X": 2, "Y": 1} and tagged["duplicates"] == {}
    running = card({"train": Examples("running", ["a b\n"], [""]), "valid": Examples("running", ["c\n"], [""])})
    assert running["duplicates"] == {} and running["unseen"]["valid"]["input"]["words"]["share"] == 1.0


def test_the_notes_of_a_file_are_those_of_all_its_parts():
    """What was counted before the cut is no count of one part."""
    whole = Examples("labelled", list("abcdefgh"), ["x", "y"] * 4, notes=("labels with spaces: 5",))
    parts = split_by_hash(whole, valid=0.2, test=0.2)
    assert {part.notes for part in parts.values()} == {("in all parts together, labels with spaces: 5",)}
    text = Examples("running", ["a\n" * 99], [""], notes=("lines left out: 2",))
    notes = [part.notes for part in split_by_hash(text, valid=0.2).values()]
    assert notes == [("in all parts together, lines left out: 2",)] * 2
