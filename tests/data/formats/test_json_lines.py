"""JSON lines, written by the json module."""

import gzip
import json

import pytest

from tests.data.formats import json_lines, write
from zoo.data.formats import detect, read


def test_labels_of_any_simple_kind_are_strings(tmp_path):
    labels = ["pos", 1, True, 2.5, " x "]
    path = write(tmp_path / "a.jsonl", json_lines({"text": "a\nb", "label": label} for label in labels))
    found = read(path, "labelled")
    assert found.inputs == ["a\nb"] * 5 and found.answers == ["pos", "1", "true", "2.5", "x"]
    assert found.where(4) == f"{path}:5"


def test_keys_in_another_order_blank_lines_and_more_keys(tmp_path):
    lines = ['{"label": "a", "text": "one", "meta": {"x": 1}}', "", '{"text": "two", "label": "b"}']
    path = write(tmp_path / "a.json.gz", gzip.compress("\r\n".join(lines).encode()))
    found = read(path, "labelled")
    assert (found.inputs, found.answers) == (["one", "two"], ["a", "b"]) and found.where(1).endswith(":3")


def test_what_stands_inside_an_object_has_a_name(tmp_path):
    path = write(tmp_path / "a.jsonl", json_lines([{"id": 1, "translation": {"de": "Hallo", "en": "Hello"}}]))
    assert detect(path, "pairs").columns == {"source": "translation.de", "target": "translation.en"}
    turned = read(path, "pairs", columns={"source": "translation.en", "target": "translation.de"})
    assert (turned.inputs, turned.answers) == (["Hello"], ["Hallo"])


def test_a_number_is_the_place_of_a_key_in_the_first_object(tmp_path):
    path = write(tmp_path / "a.jsonl", json_lines([{"b": "x", "a": "one"}, {"a": "two", "b": "y"}]))
    found = read(path, "labelled", columns={"text": 2, "label": 1})
    assert (found.inputs, found.answers) == (["one", "two"], ["x", "y"])


def test_words_and_tags_as_lists(tmp_path):
    records = [
        {"tokens": ["New York", "is", "\n"], "ner_tags": ["B-LOC", "O", "O"]},
        {"tokens": ["x"], "ner_tags": [3]},
    ]
    found = read(write(tmp_path / "a.jsonl", json_lines(records)), "tagged")
    assert found.inputs == ["New\u00a0York is", "x"] and found.answers == ["B-LOC O", "3"]
    assert len(found.notes) == 2 and all(note.endswith(": 1") for note in found.notes)


@pytest.mark.parametrize("ascii_only", [True, False])
def test_characters_written_either_way(tmp_path, ascii_only):
    text = "日本語 😀 \u2028 é"
    path = write(tmp_path / "a.ndjson", json.dumps({"text": text}, ensure_ascii=ascii_only))
    assert read(path, "running").inputs == [text + "\n"]


def test_a_text_too_long_for_the_first_look(tmp_path):
    """Blank lines at the beginning do not hide what comes."""
    path = write(tmp_path / "a.jsonl", "\n" * 300 + '{"source": "a", "target": "b"}\n')
    assert read(path, "pairs").where(0) == f"{path}:301"
