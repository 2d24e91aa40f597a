"""JSON lines, written by the json module."""

import gzip
import json
import re

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


ENTRIES = [{"text": f"text {at}\n]", "label": "yn"[at % 2]} for at in range(150)]


@pytest.mark.parametrize(
    "written",
    [
        json.dumps(ENTRIES),
        json.dumps(ENTRIES, indent=4),
        "[\n" + ",\n".join(map(json.dumps, ENTRIES)) + "\n]\n\n",
        "\n [" + "\n,".join(map(json.dumps, ENTRIES)) + "]",
        json.dumps([[each["text"], each["label"]] for each in ENTRIES]),
        "[\n" + ",\n".join(json.dumps([each["text"], each["label"]]) for each in ENTRIES) + "\n]",
    ],
    ids=["one line", "indented", "a record a line", "a comma before each", "rows", "a row a line"],
)
def test_a_document_that_is_one_array(tmp_path, written):
    """As json.dump and DataFrame.to_json(orient="records") write it."""
    found = read(write(tmp_path / "a.json", written), "labelled")
    assert found.inputs == [each["text"] for each in ENTRIES] and set(found.answers) == {"y", "n"}
    lines = written.split("\n")[int(found.where(120).rpartition(":")[2]) - 1 :]
    assert "text 120" in " ".join(lines[:2])


def task(text, *annotations):
    """A task as Label Studio exports it in JSON."""
    given = [
        {"result": [{"value": value, "type": "t"} for value in values], "was_cancelled": cancelled}
        for values, cancelled in annotations
    ]
    return {"id": 1, "data": {"text": text}, "annotations": given, "predictions": []}


def test_tasks_of_label_studio(tmp_path):
    name = {"start": 0, "end": 3, "text": "Ann", "labels": ["PER"]}
    tasks = [task("Ann sings", ([name], False)), task("x", ([], True)), task("No one", ([], True), ([], False))]
    written = json.dumps(tasks, indent=2)
    found = read(write(tmp_path / "a.json", written), "tagged")
    assert found.inputs == ["Ann sings", "No one"] and found.answers == ["B-PER O", "O O"]
    line = [at for at, text in enumerate(written.split("\n"), 1) if text == "  {"][1]
    first = f"the first at {tmp_path / 'a.json'}:{line}"
    assert found.notes == (f"examples with was_cancelled = true, left out: 1 ({first})",)
    short = [{"text": "Ann sings", "label": [name], "id": 1}, {"text": "No one", "id": 2}]  # JSON-MIN
    assert read(write(tmp_path / "b.json", json.dumps(short)), "tagged").answers == found.answers
    choices = [task(str(at), ([{"choices": ["ab"[at % 2]]}], False)) for at in range(4)] + [task("none")]
    found = read(write(tmp_path / "c.json", json.dumps(choices)), "labelled")
    assert found.answers == ["a", "b", "a", "b"] and "examples without 'label', left out: 1" in found.notes[0]
    stars = [task(str(at), ([{"rating": at}], False)) for at in (3, 5)]
    assert read(write(tmp_path / "d.json", json.dumps(stars)), "rated").answers == ["3", "5"]


def test_running_text_that_is_null_or_no_unicode(tmp_path):
    path = write(tmp_path / "a.jsonl", json_lines([{"text": None}, {"text": "a b"}]))
    found = read(path, "running")
    assert found.inputs == ["a b\n"] and len(found.notes) == 1
    with pytest.raises(ValueError, match=":1: the text has half of a surrogate pair"):
        read(write(tmp_path / "b.jsonl", '{"text": "\\ud83d"}\n'), "running")


def test_a_file_without_arrays_is_told(tmp_path):
    path = write(tmp_path / "a.jsonl", json_lines([{"text": "a", "label": "b"}]))
    with pytest.raises(ValueError, match="a.jsonl: none of the first lines is an array of texts and numbers"):
        read(path, "labelled", format="jsonrows")


@pytest.mark.parametrize("indent", [None, 1])
def test_records_inside_an_object_are_refused_with_the_command_that_takes_them_out(tmp_path, indent):
    """`jq -c .` was the advice, and wrote the same object again."""
    path = write(tmp_path / "a.json", json.dumps({"data": [{"text": "a", "label": "b"}]}, indent=indent))
    with pytest.raises(ValueError, match=r"a.json:1: .*take them out: `jq -c '\.data\[\]' in.json > out.jsonl`"):
        read(path, "labelled")


def test_pairs_of_sentence_transformers(tmp_path):
    path = write(tmp_path / "a.jsonl", json_lines([{"anchor": "a", "positive": "b", "negative": "c"}]))
    assert detect(path, "pairs").columns == {"source": "anchor", "target": "positive"}


def test_languages_are_named_in_some_languages(tmp_path):
    """A table of Excel's in German, whose header was an example."""
    path = write(tmp_path / "a.csv", "Deutsch;Englisch\nder Hund;the dog\ndie Katze;the cat\n")
    assert detect(path, "pairs").columns == {"source": "Deutsch", "target": "Englisch"}
    assert len(read(path, "pairs")) == 2


@pytest.mark.parametrize(
    ("kind", "record", "columns"),
    [
        ("labelled", {"id": 1, "data": {"text": "gut", "label": "pos"}}, {"text": "data.text", "label": "data.label"}),
        ("rated", {"row": {"review_text": "gut", "stars": 4}}, {"text": "row.review_text", "score": "row.stars"}),
        (
            "compared",
            {"user": {"label": "x"}, "data": {"sentence1": "a", "sentence2": "b", "label": "1"}},
            {"first": "data.sentence1", "second": "data.sentence2", "label": "data.label"},
        ),
        ("tagged", {"data": {"tokens": ["a"], "tags": ["X"]}}, {"words": "data.tokens", "tags": "data.tags"}),
        ("labelled", {"text": "gut", "user": {"label": "admin"}}, None),
        ("labelled", {"label": "pos", "data": {"text": "gut"}}, None),
        ("labelled", {"a": {"text": "gut", "label": "pos"}, "b": {"text": "gut", "label": "pos"}}, None),
    ],
)
def test_roles_inside_one_object(tmp_path, kind, record, columns):
    """They were found only where they were named. Roles of two objects, or one inside and one outside, are no guess."""
    path = tmp_path / "a.jsonl"
    other = {"pos": "neg", "1": "0", "X": "Y", "4": "5"}
    line = json.dumps(record)
    path.write_text(line + "\n" + re.sub(r'(?<=")(pos|1|X)(?=")|\b4\b', lambda found: other[found[0]], line) + "\n")
    if columns is None:
        with pytest.raises(ValueError, match="which entry is (text|label)"):
            detect(path, kind)
    else:
        assert detect(path, kind).columns == columns and len(read(path, kind).inputs) == 2


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.json"])
def test_arrays_of_json(tmp_path, name):
    rows = [[number, "ab"[number % 2], f'he said "{number}"\nand left', None, 1.5] for number in range(12)]
    path = write(tmp_path / name, "".join(json.dumps(row) + "\n" for row in rows))
    found = read(path, "labelled", columns={"text": 3, "label": 2})
    assert found.inputs == [row[2] for row in rows] and found.answers == [row[1] for row in rows]
    assert detect(write(tmp_path / "two.json", '["t u", "a"]\n["v w", "b"]\n' * 9), "labelled").columns == {
        "text": 1,
        "label": 2,
    }
    header = write(tmp_path / "named.jsonl", '["label", "text"]\n' + "".join(f'["{row[1]}", "t"]\n' for row in rows))
    assert read(header, "labelled").answers == [row[1] for row in rows]


@pytest.mark.parametrize("line", ['["a"]', '{"text": "a", "label": "b"}', "17", '["a", ["b"]]'])
def test_a_line_that_is_no_such_array_is_told(tmp_path, line):
    path = write(tmp_path / "rows.jsonl", f'["one", "x"]\n["two", "y"]\n{line}\n')
    with pytest.raises(ValueError, match=":3: .* is no array of 2 texts and numbers"):
        read(path, "labelled")


def test_ratings_of_shops(tmp_path):
    rows = [json.dumps({"reviewerName": "Ann", "reviewText": f"a text {at}", "overall": at % 5}) for at in range(9)]
    path = write(tmp_path / "reviews.json", "\n".join(rows))
    assert detect(path, "rated").columns == {"text": "reviewText", "score": "overall"}
