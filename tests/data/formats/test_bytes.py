"""Ends of lines, byte order marks and bytes that are no text."""

import json
import os

import pytest

from tests.data.formats import write
from zoo.data.formats import opening, read

ROWS = [("süß", "gut"), ("fade", "schlecht"), ("satt", "gut")]
FILES = {  # name -> (kind, content)
    "a.csv": ("labelled", "".join(f"{text},{label}\n" for text, label in ROWS)),
    "a.tsv": ("labelled", "".join(f"{text}\t{label}\n" for text, label in ROWS)),
    "a.jsonl": ("labelled", "".join(json.dumps({"text": text, "label": label}) + "\n" for text, label in ROWS)),
    "fast.txt": ("labelled", "".join(f"__label__{label} {text}\n" for text, label in ROWS)),
    "a.dict": ("pairs", "".join(f"{text} {label}\n" for text, label in ROWS)),
    "a.conll": ("tagged", "".join(f"{text} {label}\n\n" for text, label in ROWS)),
}


def rows(path, **options):
    found = read(path, FILES[path.name][0], **options)
    return list(zip(found.inputs, found.answers, strict=True))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("name", FILES)
def test_lines_end_in_lf_crlf_or_cr(tmp_path, name, end, encoding):
    path = write(tmp_path / name, FILES[name][1].replace("\n", end).encode(encoding))
    assert rows(path, encoding=encoding) == ROWS
    one = write(tmp_path / "one" / name, FILES[name][1].replace("\n", end).removesuffix(end).encode(encoding))
    assert rows(one, encoding=encoding) == ROWS


@pytest.mark.parametrize("name", FILES)
def test_joined_files_have_marks_inside(tmp_path, name):
    """`cat` of files that Windows wrote: each begins with a byte order mark, one of them with two."""
    path = write(tmp_path / name, ("\ufeff" + FILES[name][1] + "\ufeff\ufeff" + FILES[name][1]).encode())
    assert rows(path) == ROWS * 2


@pytest.mark.parametrize("name", ["pipe.csv", "loop.csv", "dangling.csv"])
def test_what_is_there_and_no_file(tmp_path, name):
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "loop.csv").symlink_to("loop.csv")
    (tmp_path / "dangling.csv").symlink_to("nowhere.csv")
    with pytest.raises(ValueError, match=f"{name} is a device, a pipe, a socket or a broken link; expected a text"):
        read(tmp_path / name, "labelled")


def test_a_line_without_an_end_is_not_read_into_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(opening, "_LONGEST", 1000)
    path = write(tmp_path / "a.csv", "text,label\n" + "a" * 2000 + ",b\n")
    with pytest.raises(ValueError, match="a.csv:2: the line has more than 1,000 bytes"):
        read(path, "labelled")


def test_the_encoding_that_was_named_for_a_file_is_wrong(tmp_path):
    path = write(tmp_path / "a.csv", "text,label\nCafé,a\nthé,b\n".encode("cp1252"))
    with pytest.raises(ValueError, match="is not ascii here .*Name the encoding that the file has") as refused:
        read(path, "labelled", encodings={"a.csv": "ascii"})
    assert "UTF-8: read it so" not in str(refused.value)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32"])
def test_a_wide_file_that_ends_inside_a_character_is_told(tmp_path, encoding):
    whole = "text,label\nfine,a\nbad,b\n😀😀,b".encode(encoding)
    path = write(tmp_path / "a.csv", whole)
    assert read(path, "labelled", encoding=encoding).inputs[-1:] == ["😀😀"]
    for lost in (1, 3, 7):
        with pytest.raises(ValueError, match="a.csv:4: no utf-.* from here on"):
            list(opening.open_lines(str(write(path, whole[:-lost])), encoding))


def test_advice_does_not_depend_on_how_the_path_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "a.csv", "text,label\nCafé,a\nthé,b\n".encode("cp1252"))
    for name in ("a.csv", "./a.csv"):
        with pytest.raises(ValueError, match="this reads 'Café,a': then say encodings="):
            read(name, "labelled")
