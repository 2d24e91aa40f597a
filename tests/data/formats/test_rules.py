"""Rules by which data are mended: what each of them does, and what becomes of the same file where it is off."""

import pytest

from tests.data.formats import json_lines, write
from zoo.data.formats import card, detect, read
from zoo.data.formats.base import RULES

ROWS = [(f"a text {at}", "yn"[at % 2]) for at in range(4)]
CSV = "text,label\n" + "".join(f"{text},{label}\n" for text, label in ROWS)
LINES = json_lines([{"text": text, "label": label} for text, label in ROWS])
SPANS = [{"text": "Maria sings", "entities": [[0, 5, "PER"]]}, {"text": "Marias", "entities": [[0, 5, "PER"]]}]
NO_VALUE = "rows without any value, left out: "
FOLDERS = {"pos/1.txt": "good", "neg/1.txt": "bad", "README": "two films"}
CASES = {  # name: (rule, kind, files, examples with it, what is noted, examples without it or what is refused)
    "empty": (
        "empty",
        "labelled",
        {"a.csv": CSV + "a,\n"},
        4,
        "examples without a label",
        "a.csv:6: the label is empty",
    ),
    "row": ("blank_rows", "labelled", {"a.csv": CSV + ",\n"}, 4, NO_VALUE + "1", 4),
    "line": (
        "blank_rows",
        "labelled",
        {"a.csv": CSV + "\n\na,y\n"},
        5,
        NO_VALUE + "2 (the first at ",
        5,
    ),
    "json": ("blank_rows", "labelled", {"a.jsonl": LINES + " \n"}, 4, NO_VALUE + "1", 4),
    "fast": (
        "blank_rows",
        "labelled",
        {"a.txt": "__label__a b\n\n__label__c d\n"},
        2,
        NO_VALUE + "1",
        2,
    ),
    "end": ("blank_rows", "pairs", {"a.de": "a\n", "b.en": "b\n\n"}, 1, "blank lines behind", "not aligned"),
    "verdict": (
        "verdicts",
        "labelled",
        {"a.csv": "text,label,answer\na,y,accept\nb,n,accept\nc,y,reject\n"},
        2,
        "examples with answer = reject, left out: 1",
        3,
    ),
    "comma": (
        "commas",
        "rated",
        {"a.csv": "text;score\na;1,5\nb;-,25\nc;0,125\nd;7\n"},
        4,
        "scores with a decimal comma, which was read as a point: 3",
        "a.csv:2: the score is '1,5'",
    ),
    "header": (
        "headers",
        "labelled",
        {"a.csv": CSV + "\ufeff" + CSV},
        8,
        "rows that repeat the header, left out: 1 (the first at ",
        9,
    ),
    "space": ("label_spaces", "labelled", {"a.csv": CSV + "a, y\n"}, 5, "labels with spaces around them", 5),
    "white": (
        "blank_words",
        "tagged",
        {"a.jsonl": json_lines([{"words": ["a", " ", "b"], "tags": ["X", "_", "Y"]}])},
        1,
        "words of white space alone, left out with their tags: 1",
        "a word of white space alone in .*'blank_words' is off",
    ),
    "inner": (
        "inner_spaces",
        "tagged",
        {"a.jsonl": json_lines([{"words": ["New York", "b"], "tags": ["X", "Y"]}])},
        1,
        "spaces inside a word or a tag",
        "a space inside a word or a tag in .*'inner_spaces' is off",
    ),
    "half": (
        "half_words",
        "tagged",
        {"a.jsonl": json_lines(SPANS)},
        2,
        "spans that begin or end inside",
        "1 span in 'Marias'",
    ),
    "stray": ("stray_files", "labelled", FOLDERS, 2, "files beside the folders", "README: a file beside the folders"),
    "quote": (
        "backslashes",
        "labelled",
        {"a.csv": 'text,label\n"a \\"b\\", c",y\n"d, e",n\n'},
        2,
        "",
        "text follows a closing quote",
    ),
}


def files(folder, data):
    paths = [write(folder / name, text) for name, text in data.items()]
    return folder if len(paths) > 2 else paths


def test_each_rule_of_reading_has_a_case():
    assert {rule for rule, *_ in CASES.values()} | {"labels"} == set(RULES)


@pytest.mark.parametrize("name", CASES)
def test_a_rule_that_is_on_and_off(tmp_path, name):
    rule, kind, data, count, note, off = CASES[name]
    paths = files(tmp_path / "own", data)
    found = read(paths, kind)
    assert len(found) == count and note in "; ".join(found.notes)
    if isinstance(off, str):
        with pytest.raises(ValueError, match=off):
            read(paths, kind, rules_off=[rule])
    else:
        without = read(paths, kind, rules_off=[rule])
        assert len(without) == off and (not note or note not in "; ".join(without.notes))
        assert len(detect(paths, kind, rules_off=[rule]).samples) == min(3, off)
    other = [each for each in RULES if each != rule]
    assert read(paths, kind, rules_off=other).answers == found.answers, "a rule does no other's work"


def test_what_is_without_a_value_then_lacks_a_text(tmp_path):
    path = write(tmp_path / "a.csv", CSV + "\n,\n")
    found = read(path, "labelled", rules_off=["blank_rows"])
    assert found.notes == (f"examples without any value, left out: 2 (the first at {path}:6)",)
    with pytest.raises(ValueError, match="a.csv:6: the row has no value"):
        read(path, "labelled", rules_off=["blank_rows", "empty"])


def test_spaces_of_labels_stay_where_nobody_removes_them(tmp_path):
    path = write(tmp_path / "a.csv", 'text,label\na," y"\nb,n\nc,"y "\n')
    assert read(path, "labelled").answers == ["y", "n", "y"]
    assert read(path, "labelled", rules_off=["label_spaces"]).answers == [" y", "n", "y "]


def test_names_that_are_no_rules(tmp_path):
    with pytest.raises(ValueError, match="rules_off names rules of mending, empty, labels, .*; received 'tabs'"):
        read(write(tmp_path / "a.csv", CSV), "labelled", rules_off=["labels", "tabs"])


def test_the_card_says_which_were_off(tmp_path):
    path = write(tmp_path / "a.csv", CSV)
    assert card({"train": read(path, "labelled")}, rules_off=["labels"])["rules_off"] == ["labels"]
    assert card({"train": read(path, "labelled")})["rules_off"] == []
