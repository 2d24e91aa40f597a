"""CSV and TSV; the oracle is Python's csv module, which writes the files."""

import codecs
import csv
import gzip
import lzma

import pytest
from hypothesis import given, settings, strategies as st

from tests.data.formats import delimited, write
from zoo.data.formats import detect, read

TEXTS = ["A good, solid film", 'bad; really "bad"', "line one\nline two", "So-so", " überraschend\tgut", "\u2028 x"]
LABELS = ["pos", "neg", "neg", "neg", "pos", "neg"]
ROWS = list(zip(TEXTS, LABELS, strict=True))
SICK = {"first": "sentence_A", "second": "sentence_B", "label": "entailment_judgment"}
AIRLINE = {"text": "text", "label": "airline_sentiment"}
INDEXED = [["", "text", "label"], *([number, *row] for number, row in enumerate(ROWS))]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("rows", [[("text", "label"), *ROWS], INDEXED, ROWS], ids=["header", "index", "plain"])
def test_reads_what_the_csv_module_writes(tmp_path, rows, delimiter, end):
    path = write(tmp_path / "a.csv", delimited(rows, delimiter, end))
    found = read(path, "labelled")
    assert (found.inputs, found.answers) == (TEXTS, LABELS)


@settings(max_examples=60)
@given(
    rows=st.lists(
        st.tuples(
            st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r"), min_size=1).filter(str.strip),
            st.sampled_from(["a", "b"]),
        ),
        min_size=1,
    ),
    delimiter=st.sampled_from(",;\t|"),
)
def test_any_text_comes_back(tmp_path_factory, rows, delimiter):
    """Whatever a text holds, if quoted by the rules it is read as it was written."""
    path = tmp_path_factory.mktemp("any") / "a.csv"
    write(path, delimited([("text", "label"), *rows], delimiter, quoting=csv.QUOTE_ALL))
    found = read(path, "labelled", fewest_labels=1)
    assert list(zip(found.inputs, found.answers, strict=True)) == rows


@pytest.mark.parametrize("name", ["a.csv.gz", "a.csv.xz", "A.CSV"])
def test_compressed_files_and_capitals(tmp_path, name):
    data = delimited([("text", "label"), *ROWS]).encode()
    pack = {"gz": gzip.compress, "xz": lzma.compress}.get(name[-2:], bytes)
    assert read(write(tmp_path / name, pack(data)), "labelled").inputs == TEXTS


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252", "utf-32"])
def test_encodings_that_are_named(tmp_path, encoding):
    rows = [row for row in ROWS if "\u2028" not in row[0]]
    path = write(tmp_path / "a.csv", codecs.encode(delimited([("text", "label"), *rows], end="\r\n"), encoding))
    found = read(path, "labelled", encoding="utf-8" if encoding == "utf-8-sig" else encoding)
    assert list(zip(found.inputs, found.answers, strict=True)) == rows


def test_quotes_in_tsv_are_text_where_the_file_is_not_quoted_throughout(tmp_path):
    rows = ['"Stop" he said\tpos', '"Go!"\tneg', 'a 5" disk\tneg', '"\tpos']
    found = read(write(tmp_path / "a.tsv", "\n".join(rows)), "labelled")
    assert found.inputs == ['"Stop" he said', '"Go!"', 'a 5" disk', '"']


def test_places_are_lines_of_the_file(tmp_path):
    """Also below a text that has several lines, and over several files."""
    one = write(tmp_path / "one.csv", delimited([("text", "label"), *ROWS[:4]]))
    two = write(tmp_path / "two.csv", delimited([("label", "text"), ("pos", "other order")]))
    found = read([one, two], "labelled")
    assert [found.where(at) for at in range(5)] == [f"{one}:2", f"{one}:3", f"{one}:4", f"{one}:6", f"{two}:2"]
    assert found.take([4, 2]).where(0) == f"{two}:2" and found.inputs[4] == "other order"


@pytest.mark.parametrize(
    ("kind", "first", "columns", "header"),
    [
        ("labelled", "text,label", {"text": "text", "label": "label"}, True),
        ("labelled", "label,text", {"text": "text", "label": "label"}, True),
        ("labelled", "review;sentiment", {"text": "review", "label": "sentiment"}, True),
        ("labelled", "id,Review Text,Class Name", {"text": "Review Text", "label": "Class Name"}, True),
        ("labelled", "text,label,label_text", {"text": "text", "label": "label"}, True),
        ("labelled", "stars;Film review;Sentiment Label", {"text": "Film review", "label": "Sentiment Label"}, True),
        ("labelled", "text,label_confidence,sentiment", {"text": "text", "label": "sentiment"}, True),
        ("labelled", "v1,v2", {"text": 2, "label": 1}, True),
        ("labelled", "comment,spam?", {"text": 1, "label": 2}, True),
        ("labelled", "spam,Win a prize. Call now!", {"text": 2, "label": 1}, False),
        ("compared", "sentence1,sentence2,label", {"first": 1, "second": 2, "label": 3}, True),
        ("compared", "premise\thypothesis\tgold_label", {"first": 1, "second": 2, "label": 3}, True),
        ("compared", "id,qid1,qid2,question1,question2,is_duplicate", {"first": 4, "second": 5, "label": 6}, True),
        ("compared", "pair_ID,sentence_A,sentence_B,relatedness_score,entailment_judgment", SICK, True),
        ("labelled", "Unnamed: 0,count,hate_speech,neither,class,tweet", {"text": "tweet", "label": "class"}, True),
        ("labelled", "tweet_id,airline_sentiment,airline_sentiment_confidence,airline,text", AIRLINE, True),
        ("compared", "yes,How is it?,What is it?", {"first": 2, "second": 3, "label": 1}, False),
        ("pairs", "src,tgt", {"source": 1, "target": 2}, True),
        ("pairs", "target,source", {"source": 2, "target": 1}, True),
        ("pairs", "de,en", {"source": 1, "target": 2}, True),
        ("pairs", "English Sentence,Hindi Sentence", {"source": 1, "target": 2}, True),
        ("pairs", "source,english_sentence,hindi_sentence", {"source": 2, "target": 3}, True),
        ("pairs", "English words/sentences,French words/sentences", {"source": 1, "target": 2}, True),
        ("pairs", "article,highlights,id", {"source": 1, "target": 2}, True),
        ("pairs", "text,summary", {"source": 1, "target": 2}, True),
        ("pairs", "Hallo!,Hello!", {"source": 1, "target": 2}, False),
        ("pairs", "text,Text", {"source": 1, "target": 2}, False),
        ("tagged", "tokens;ner_tags", {"words": 1, "tags": 2}, True),
    ],
)
def test_finds_headers_and_columns(tmp_path, kind, first, columns, header):
    delimiter = next(each for each in ";\t," if each in first)
    names = first.split(delimiter)
    body = []
    for row in range(6):
        cells = dict.fromkeys(range(1, len(names) + 1), str(row))
        for role, column in columns.items():
            at = column if isinstance(column, int) else names.index(column) + 1
            cells[at] = ("spam", "ham")[row % 2] if role in ("label", "tags") else f"a text of words {row}"
            cells[at] = "A B C D E" if role == "tags" else cells[at]
        body.append([cells[at] for at in sorted(cells)])
    path = write(tmp_path / "a.csv", delimited([names, *body], delimiter))
    found = detect(path, kind)
    told = {role: names[at - 1] if header and isinstance(at, int) else at for role, at in columns.items()}
    assert found.columns == told and found.details["header"] is header
    if kind != "tagged":
        assert len(read(path, kind)) == 6 + (not header)


def test_columns_by_name_by_number_and_without_a_header(tmp_path):
    rows = [("a", "b", "c"), ("one", "two", "x"), ("three", "four", "y")]
    path = write(tmp_path / "a.csv", delimited(rows))
    by_name = read(path, "labelled", columns={"text": "b", "label": "c"})
    assert (by_name.inputs, by_name.answers) == (["two", "four"], ["x", "y"])
    plain = read(path, "labelled", columns={"text": 1, "label": "3", "header": False})
    assert (plain.inputs, plain.answers) == (["a", "one", "three"], ["c", "x", "y"])
    assert read(path, "labelled", columns={"text": 1, "label": 3, "header": True}).inputs == ["one", "three"]


def test_the_attribution_of_tatoeba_is_no_text(tmp_path):
    rows = ["Hi.\t嗨。\tCC-BY 2.0 (France) Attribution: #1", "Run!\t跑！\tCC-BY 2.0 (France) Attribution: #2"]
    found = read(write(tmp_path / "cmn.txt", "\n".join(rows)), "pairs")
    assert (found.inputs, found.answers) == (["Hi.", "Run!"], ["嗨。", "跑！"])


def test_a_long_text_is_read_and_the_csv_module_is_left_as_it_was(tmp_path):
    before, text = csv.field_size_limit(), "word " * 100_000
    path = write(tmp_path / "a.csv", delimited([("text", "label"), (text, "a"), ("short", "b")]))
    assert read(path, "labelled").inputs[0] == text and csv.field_size_limit() == before


def test_what_excel_adds(tmp_path):
    """A line that names the delimiter, spaces around names, and rows of nothing at the end."""
    text = "sep=|\r\n text |label ;x\r\na;b|pos\r\nc|neg\r\n|\r\n \r\n"
    path = write(tmp_path / "a.csv", "\ufeff" + text)
    found = read(path, "labelled", columns={"text": "text", "label": "label ;x"})
    assert (found.inputs, found.answers) == (["a;b", "c"], ["pos", "neg"]) and found.where(1) == f"{path}:4"
    assert found.notes == (f"rows without any value, left out: 2 (the first at {path}:5)",)


def test_numbers_with_a_decimal_comma_are_numbers(tmp_path):
    """As pandas writes them with sep=";" and decimal=","; a text of its own length tells no header here."""
    rows = [("Film", "Sentiment Label", "stars")] + [(f"A film {n}", "ab"[n % 2], f"{n % 5},0") for n in range(6)]
    found = detect(write(tmp_path / "a.csv", delimited(rows, ";")), "labelled", columns={"text": "1"})
    assert found.details["header"] and list(found.columns) == ["text", "label"]
    assert found.columns["text"] == "Film"


@pytest.mark.parametrize(
    "ids", [["0", "1", "2", "3"], ["1", "2", "3", "4"], ["s1", "s2", "s3", "s9"], ["17", "4", "99", "3"]]
)
@pytest.mark.parametrize("end", [",", "\t"])
def test_a_column_of_numbers_or_names_of_the_rows_is_no_text(tmp_path, ids, end):
    rows = [("good film", "pos"), ("bad film", "neg"), ("so good", "pos"), ("so bad", "neg")]
    text = "".join(end.join((each, *row)) + "\n" for each, row in zip(ids, rows, strict=True))
    path = write(tmp_path / ("a.csv" if end == "," else "a.tsv"), text)
    found = read(path, "labelled")
    assert list(zip(found.inputs, found.answers, strict=True)) == rows
    assert detect(path, "labelled").columns == {"text": 2, "label": 3}
    assert read(path, "pairs").inputs == found.inputs


@pytest.mark.parametrize("name", ["text\nof review", "  text \r\n of\n\nreview ", "What did you\nthink of it?"])
def test_a_header_with_a_line_break_is_a_header(tmp_path, name):
    rows = [[name, "label"], *([f"{word} {at}", word[0]] for at in range(6) for word in ("good", "bad"))]
    path = write(tmp_path / "a.csv", delimited(rows))
    found, called = read(path, "labelled"), " ".join(name.split())
    assert len(found) == 12 and set(found.answers) == {"g", "b"}
    assert detect(path, "labelled").columns == {"text": called, "label": "label"}
    assert read(path, "labelled", columns={"text": called}).inputs == found.inputs
    assert read(path, "labelled", columns={"text": name}).inputs == found.inputs


def test_quotes_behind_backslashes(tmp_path):
    texts = ['he said "good", yes', "C:\\new", 'a "" b', "back\\slash at the end\\", 'line\n"break"', "plain"] * 3
    rows = [("text", "label"), *((text, "ab"[number % 2]) for number, text in enumerate(texts))]
    written = delimited(rows, quoting=csv.QUOTE_ALL, doublequote=False, escapechar="\\")
    path = write(tmp_path / "mysql.csv", written)
    assert read(path, "labelled").inputs == texts
    assert "behind a backslash" in detect(path, "labelled").why


def test_what_the_usual_rule_reads_is_read_by_it(tmp_path):
    """A field may end with a backslash: its quote is no quote inside the field."""
    texts = ["C:\\", 'say "\\" twice', "x"] * 3
    rows = [("text", "label"), *((text, "ab"[number % 2]) for number, text in enumerate(texts))]
    path = write(tmp_path / "usual.csv", delimited(rows, quoting=csv.QUOTE_ALL))
    assert read(path, "labelled").inputs == texts and "backslash" not in detect(path, "labelled").why
    wrong = write(tmp_path / "neither.csv", 'text,label\n"a \\" b" c,x\nd,y\n')
    with pytest.raises(ValueError, match="neither.csv:2: text follows a closing quote"):
        read(wrong, "labelled")
