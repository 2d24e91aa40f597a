"""Files that are whole or not there, and JSON that every reader takes."""

import json
import math

import pytest

from zoo.core.storage import finite, json_text, write_json, write_text


def strict(text):
    """JSON as the standard has it: Python alone reads NaN and Infinity."""

    def refuse(constant):
        raise ValueError(constant)

    return json.loads(text, parse_constant=refuse)


def test_what_json_cannot_say_is_null(tmp_path):
    value = {"a": math.nan, "b": [1.5, math.inf, (-math.inf, "ü")], "c": {"d": 3, "e": None}}
    expected = {"a": None, "b": [1.5, None, [None, "ü"]], "c": {"d": 3, "e": None}}
    assert finite(value) == expected == strict(json_text(value))
    write_json(tmp_path / "deep" / "scores.json", value)
    text = (tmp_path / "deep" / "scores.json").read_text(encoding="utf-8")
    assert strict(text) == expected and "ü" in text and text.endswith("}\n")


def test_a_value_that_is_no_json_leaves_the_old_file(tmp_path):
    write_json(tmp_path / "a.json", [1])
    with pytest.raises(TypeError):
        write_json(tmp_path / "a.json", [object()])
    assert json.loads((tmp_path / "a.json").read_text()) == [1]


def test_a_full_disk_leaves_the_old_file(tmp_path, monkeypatch):
    write_text(tmp_path / "a.txt", "old")

    def full(_):
        raise OSError("No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_text(tmp_path / "a.txt", "new")
    assert (tmp_path / "a.txt").read_text() == "old"
