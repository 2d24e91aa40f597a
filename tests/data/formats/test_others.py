"""fastText's labels, arrays of JSON and quotes behind backslashes, against the libraries that write them."""

import csv
import io
import json

import pytest

from tests.data.formats import write
from zoo.data.formats import detect, read

FAST = "__label__pos a good  film\n\n__label__neg\tnot good\nwarm and __label__pos kind\n  __label__a.b-c x __label__\n"


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


def test_quotes_behind_backslashes(tmp_path):
    texts = ['he said "good", yes', "C:\\new", 'a "" b', "back\\slash at the end\\", 'line\n"break"', "plain"] * 3
    written = io.StringIO()
    writer = csv.writer(written, quoting=csv.QUOTE_ALL, doublequote=False, escapechar="\\", lineterminator="\n")
    writer.writerows([("text", "label"), *((text, "ab"[number % 2]) for number, text in enumerate(texts))])
    path = write(tmp_path / "mysql.csv", written.getvalue())
    assert read(path, "labelled").inputs == texts
    assert "behind a backslash" in detect(path, "labelled").why


def test_what_the_usual_rule_reads_is_read_by_it(tmp_path):
    """A field may end with a backslash: its quote is no quote inside the field."""
    texts = ["C:\\", 'say "\\" twice', "x"] * 3
    written = io.StringIO()
    rows = [("text", "label"), *((text, "ab"[number % 2]) for number, text in enumerate(texts))]
    csv.writer(written, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)
    path = write(tmp_path / "usual.csv", written.getvalue())
    assert read(path, "labelled").inputs == texts and "backslash" not in detect(path, "labelled").why
    wrong = write(tmp_path / "neither.csv", 'text,label\n"a \\" b" c,x\nd,y\n')
    with pytest.raises(ValueError, match="neither.csv:2: text follows a closing quote"):
        read(wrong, "labelled")


def test_a_file_for_each_label_is_not_taken_for_texts_and_labels(tmp_path):
    """The lines of rt-polarity.neg were the labels of those of rt-polarity.pos, where there were up to 100."""
    files = [write(tmp_path / f"rt.{name}", "".join(f"{name} {at}\n" for at in range(30))) for name in ("pos", "neg")]
    with pytest.raises(ValueError, match="30 different labels in 30 examples.* Of a file for each label make one"):
        read(files, "labelled")
    rare = write(tmp_path / "test.csv", "text,label\n" + "".join(f"text {at},label {at}\n" for at in range(150)))
    assert len(read(rare, "labelled", fewest_labels=1)) == 150, "a test may ask each of many labels once"


def test_ratings_of_shops(tmp_path):
    rows = [json.dumps({"reviewerName": "Ann", "reviewText": f"a text {at}", "overall": at % 5}) for at in range(9)]
    path = write(tmp_path / "reviews.json", "\n".join(rows))
    assert detect(path, "rated").columns == {"text": "reviewText", "score": "overall"}
