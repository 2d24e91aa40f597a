"""Examples without a text or a label, and those that an annotator rejected: left out, counted and said, or refused."""

import gzip
import json

import pytest

from tests.data.formats import json_lines, write
from zoo.data.formats import detect, read

ROWS = [(f"a text {at}", "yn"[at % 2]) for at in range(8)]
CSV = "text,label\n" + "".join(f"{text},{label}\n" for text, label in ROWS)
LINES = json_lines([{"text": text, "label": label} for text, label in ROWS])
BLANK = {
    "a.csv": ("labelled", CSV + ",y\nalone,\n  ,n\n"),
    "a.tsv": ("labelled", CSV.replace(",", "\t") + "\ty\nalone\t\n \tn\n"),
    "a.jsonl": ("labelled", LINES + '{"text": null, "label": "y"}\n{"text": "alone"}\n{"text": " ", "label": "n"}\n'),
    "b.jsonl": ("labelled", '{"text": "first"}\n{"label": "y"}\n{"text": "", "label": "y"}\n' + LINES),
    "a.conll": ("tagged", "a\tX\nb\tY\n\n" * 8 + "a\tX\nb\t\n\n\tX\nb\tY\n\nc\t\n"),
    "b.tsv": ("tagged", "words\ttags\n" + "a b\tX Y\n" * 8 + "a b\t\n\tX Y\n" + "a\t\n"),
    "c.csv": ("compared", "first,second,label\n" + "a,b,0\na,c,1\n" * 4 + ",b,1\na,,0\na,b,\n"),
}


@pytest.mark.parametrize("name", BLANK)
def test_what_lacks_a_text_or_a_label(tmp_path, name):
    kind, data = BLANK[name]
    path = write(tmp_path / name, data)
    found = read(path, kind)
    assert (
        len(found) == 8
        and sum(int(note.split(": ")[1].split(" ")[0]) for note in found.notes if "without" in note) == 3
    )
    assert all("left out: " in note and f"(the first at {path}" in note for note in found.notes)
    assert all(text for text in found.inputs) and "" not in found.answers
    with pytest.raises(ValueError, match="^3 problems in the data:"):
        read(path, kind, rules_off=["empty"])
    assert len(detect(path, kind).samples) == 3


def test_blank_lines_of_parallel_text(tmp_path):
    source, target = (
        write(tmp_path / "a.en", "one\n\nthree\n \nfive\n"),
        write(tmp_path / "a.de", "eins\nzwei\n\n\nfünf\n"),
    )
    found = read([source, target], "pairs")
    assert (found.inputs, found.answers) == (["one", "five"], ["eins", "fünf"]) and found.where(1) == f"{source}:5"
    assert found.notes == (
        f"examples without a source, left out: 2 (the first at {source}:2)",
        f"examples without a target, left out: 1 (the first at {target}:3)",
    )
    with pytest.raises(ValueError, match="3 problems in the data:\n.*a.en:2: the source line is empty"):
        read([source, target], "pairs", rules_off=["empty"])


def test_blank_lines_behind_the_end_of_the_other_file(tmp_path):
    source, target = write(tmp_path / "a.en", "one\ntwo\n\n \n"), write(tmp_path / "a.de", "eins\nzwei\n")
    found = read([source, target], "pairs")
    assert found.answers == ["eins", "zwei"]
    assert found.notes == (f"blank lines behind the last line of the other file, left out: 2 (in {source})",)
    with pytest.raises(ValueError, match="a.de:3: the files are not aligned: .*a.en has 4 lines, .*a.de has 2 lines"):
        read([write(tmp_path / "a.en", "one\ntwo\n\nfour\n"), target], "pairs")


def test_blank_files_of_a_folder(tmp_path):
    for name, text in {"pos/1": "good", "pos/2": " \n", "neg/1": "bad"}.items():
        write(tmp_path / "a" / name, text)
    assert read(tmp_path / "a", "labelled").answers == ["neg", "pos"]
    with pytest.raises(ValueError, match="pos/2: the text is empty"):
        read(tmp_path / "a", "labelled", rules_off=["empty"])


def test_nothing_that_is_left_is_an_error(tmp_path):
    path = write(tmp_path / "a.csv", "text,label\ngood,\nbad,\n")
    for look in (read, detect):
        with pytest.raises(
            ValueError, match=r"no examples: all are left out: examples without a label, left out: 2 \(the"
        ):
            look(path, "labelled")


VERDICTS = [("answer", "accept", ["reject", "ignore"]), ("status", "submitted", ["discarded", "discarded"])]
VERDICTS += [("was_cancelled", False, [True, True])]


@pytest.mark.parametrize(("column", "kept", "others"), VERDICTS)
def test_examples_that_an_annotator_rejected(tmp_path, column, kept, others):
    records = [{"text": text, "label": label, column: kept} for text, label in ROWS]
    rejected = [{"text": f"no {at}", "label": "y", column: verdict} for at, verdict in enumerate(others)]
    rejected += [{"text": "", "spans": None, column: others[0]}]  # whatever it holds
    path = write(tmp_path / "a.jsonl", json_lines(rejected + records + rejected))
    found = read(path, "labelled")
    assert found.inputs == [text for text, _ in ROWS]
    assert sum(int(note.split(": ")[1].split(" ")[0]) for note in found.notes) == 2 * len(rejected)
    assert all(note.startswith(f"examples with {column} = ") for note in found.notes)
    table = "".join(f"{each['text']},{each.get('label', 'y')},{each[column]}\n" for each in rejected[:-1] + records)
    assert read(write(tmp_path / "a.csv", f"text,label,{column.title()}\n{table}"), "labelled").inputs == found.inputs
    spans = [
        {"text": "Ann sings", "spans": [{"start": 0, "end": 3, "label": "PER"}], column: verdict}
        for verdict in (others[0], kept, others[1])
    ]
    assert len(read(write(tmp_path / "b.jsonl", json_lines(spans)), "tagged")) == 1


def test_labels_as_annotation_tools_write_them(tmp_path):
    """doccano has a list of one label, or none; Prodigy's choices stand under `accept`."""
    doccano = [{"id": at, "text": f"t {at}", "label": label} for at, label in enumerate([["a"], ["b"], []])]
    found = read(write(tmp_path / "a.jsonl", json_lines(doccano)), "labelled")
    assert found.answers == ["a", "b"] and found.notes[0].startswith("examples without a label, left out: 1")
    choices = [("a", "accept"), ("b", "accept"), ("b", "reject"), ("", "ignore")]
    prodigy = [{"text": "t", "options": [], "accept": [own] if own else [], "answer": said} for own, said in choices]
    found = read(write(tmp_path / "b.jsonl", json_lines(prodigy)), "labelled")
    assert found.answers == ["a", "b"] and len(found.notes) == 2
    assert (
        len(read(write(tmp_path / "d.jsonl", json_lines([*prodigy, {"text": "t", "accept": ["a"]}])), "labelled")) == 2
    )
    first = [{"text": "Bob", "answer": "reject"}, {"text": "Ann", "spans": [[0, 3, "PER"]], "answer": "accept"}]
    assert read(write(tmp_path / "c.jsonl", json_lines(first)), "tagged", fewest_labels=1).answers == ["B-PER"]


def test_a_record_that_nobody_judged_hides_no_verdict(tmp_path):
    """Empty verdicts among the others: the rejected records were trained on."""
    said = ["accept", "reject", "", None, "accept"]
    records = [{"text": f"t {at}", "label": "ab"[at // 4], "answer": each} for at, each in enumerate(said)]
    found = read(write(tmp_path / "a.jsonl", json_lines(records)), "labelled")
    assert found.inputs == ["t 0", "t 4"] and len(found.notes) == 3
    table = "text,label,answer\n" + "".join(f"t {at},{'ab'[at // 4]},{each or ''}\n" for at, each in enumerate(said))
    assert read(write(tmp_path / "a.csv", table), "labelled").inputs == found.inputs


def test_a_column_of_that_name_may_hold_something_else(tmp_path):
    rows = [{"text": "who?", "label": "a", "answer": "reject all"}, {"text": "why?", "label": "b", "answer": "reject"}]
    assert len(read(write(tmp_path / "a.jsonl", json_lines(rows)), "labelled")) == 2
    pairs = [{"question": "what to do?", "answer": each} for each in ("accept", "reject")]
    assert read(write(tmp_path / "b.jsonl", json_lines(pairs)), "pairs").answers == ["accept", "reject"]
    tickets = [{"text": "help", "label": "ab"[at], "status": each} for at, each in enumerate(("pending", "completed"))]
    assert len(read(write(tmp_path / "d.jsonl", json_lines(tickets)), "labelled")) == 2
    labels = [{"text": "a loan", "status": each} for each in ("submitted", "discarded")]
    assert len(read(write(tmp_path / "c.jsonl", json_lines(labels)), "labelled", columns={"label": "status"})) == 2


UTF8, WESTERN = "It cost £3 at the Café.\n".encode(), "It cost £3 at the Café.\n".encode("cp1252")


def folder(root, **files):
    for name, data in files.items():
        label, _, number = name.partition("_")
        write(root / label / f"{number}.txt", data)
    return root


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-16-le", "utf-16-be"])
def test_one_file_of_another_encoding_among_many(tmp_path, encoding):
    """The advice names it alone: in its encoding, files of UTF-8 would be read as other text, without an error."""
    text = UTF8.decode().strip()
    other = f"{text}\n".encode(encoding)
    root = folder(tmp_path / "a", neg_1=UTF8, neg_2=other, pos_1=UTF8, pos_2=b"plain\n")
    with pytest.raises(ValueError) as refused:
        read(root, "labelled")
    said = str(refused.value)
    assert f"{root}/neg/2.txt:1" in said and "Of 4 files 1 is not UTF-8" in said
    assert encoding != "cp1252" or "byte 8 of the line" in said and "0xa3" in said
    assert f"encoding='{encoding}'" not in said and "data.encoding=" not in said
    advised = json.loads(said.partition("encodings=")[2].partition("}")[0].replace("'", '"') + "}")
    assert advised == {"neg/2.txt": encoding}
    assert set(read(root, "labelled", encodings=advised).inputs) == {text, "plain"}
    left = read(root, "labelled", encodings={"neg/2.txt": "omit"})
    assert len(left) == 3 and left.notes == (
        f"files that data.encodings leaves out: 1 (the first at {root}/neg/2.txt)",
    )
    with pytest.raises(ValueError, match=rf"neg/1.txt:1: the file is UTF-8, .*{encoding}.* Name the encoding"):
        read(root, "labelled", encoding=encoding)
    both = {"neg/2.txt": encoding, "*.txt": "utf-8"}  # the first that fits
    assert len(set(read(root, "labelled", encoding=encoding, encodings=both).inputs)) == 2


@pytest.mark.parametrize(
    ("encoding", "texts"),
    [
        ("cp1252", ["Café", "thé", "plain"]),
        *((each, ["Schlecht", "你好"]) for each in ("utf-16", "utf-16-le", "utf-16-be")),
    ],
)
def test_files_that_are_all_of_another_encoding(tmp_path, encoding, texts):
    for at, each in enumerate(texts):
        write(tmp_path / ("neg", "pos")[at % 2] / f"{at}.txt", f"{each}\n".encode(encoding))
    with pytest.raises(ValueError, match=f"encoding='{encoding}'.*data.encoding={encoding}"):
        read(tmp_path, "labelled")
    assert sorted(read(tmp_path, "labelled", encoding=encoding).inputs) == sorted(texts)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le"])
def test_a_wide_file_beside_others(tmp_path, encoding):
    text = "text,label\nCafé,a\nthé,b\n"
    plain = write(tmp_path / "a.csv", text)
    wide = write(tmp_path / "b.csv.gz", gzip.compress(text.encode(encoding)))
    with pytest.raises(ValueError, match=r"b.csv.gz:1.*(utf-16|UTF-16)"):
        read([plain, wide], "labelled")
    assert read([plain, wide], "labelled", encodings={"b.csv.gz": encoding}).inputs == ["Café", "thé"] * 2
    assert len(read([plain, wide], "labelled", encodings={"b.*": "omit"})) == 2
    with pytest.raises(ValueError, match="leaves every file out"):
        read([plain, wide], "labelled", encodings={"*": "omit"})


def test_a_file_that_is_not_of_the_encoding_that_was_named(tmp_path):
    path = write(tmp_path / "a.csv", b"text,label\ngood \x81\xff,a\nbad,b\n")
    with pytest.raises(ValueError, match="which is not cp1252 here .*Name the encoding that the file has"):
        read(path, "labelled", encoding="cp1252")
    path = write(tmp_path / "a.csv", "text,label\nÁ,a\nbad,b\n".encode())
    with pytest.raises(ValueError, match="The file is UTF-8: read it so, and name cp1252 for other files alone"):
        read(path, "labelled", encoding="cp1252")


def test_a_file_of_two_encodings_is_not_read_in_one(tmp_path):
    path = write(tmp_path / "a.csv", b"text,label\n" + UTF8.strip() + b",a\n" + WESTERN.strip() + b",b\n")
    with pytest.raises(ValueError) as refused:
        read(path, "labelled")
    said = str(refused.value)
    assert "1 line beyond ASCII in" in said and "convert what is not (line 3) to UTF-8" in said and "cp1252" not in said


@pytest.mark.parametrize(
    ("encoding", "text"), [("cp1252", "Ã©tÃ©"), ("cp1251", "привет"), ("gbk", "联通"), ("latin-1", "é")]
)
def test_texts_of_other_encodings_are_read_in_theirs(tmp_path, encoding, text):
    """Chinese words in GBK may be valid UTF-8 by chance; a file of UTF-8 may not pass for a Western one."""
    path = write(tmp_path / "a.csv", f"text,label\n{text},a\nplain,b\n".encode(encoding))
    if text == "Ã©tÃ©":
        with pytest.raises(ValueError, match="the file is UTF-8"):
            read(path, "labelled", encoding=encoding)
        assert read(path, "labelled", encodings={"a.csv": encoding}).inputs == [text, "plain"]
    else:
        assert read(path, "labelled", encoding=encoding).inputs == [text, "plain"]


def test_what_is_left_out_of_one_file_does_not_explain_another(tmp_path):
    one = write(tmp_path / "a.csv", "text,label\na,pos\nb,neg\n,neg\n")
    empty = write(tmp_path / "b.csv", "text,label\n")
    with pytest.raises(ValueError, match="b.csv: no examples: the file is empty, or holds a header alone"):
        read([one, empty], "labelled")


def test_one_label_says_what_was_left_out(tmp_path):
    """A yes or no of Prodigy, of which the yes alone are examples."""
    records = [{"text": f"text {at}", "label": "GOOD", "answer": ("accept", "reject")[at % 2]} for at in range(6)]
    path = write(tmp_path / "a.jsonl", json_lines(records))
    with pytest.raises(ValueError, match="1 label in 3 examples .GOOD.*answer = reject, left out: 3"):
        read(path, "labelled")
    both = read(path, "labelled", columns={"label": "answer"})
    assert both.answers == ["accept", "reject"] * 3
