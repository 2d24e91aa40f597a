"""Folders of texts, and running text."""

import gzip

import pytest

from tests.data.formats import json_lines, write
from zoo.data.formats import detect, read


def test_a_folder_a_label(tmp_path):
    write(tmp_path / "pos/1_9.txt", "good\r\n\r\nfilm\n")
    write(tmp_path / "pos/2.txt.gz", gzip.compress(b"fine"))
    write(tmp_path / "neg/1", "bad")
    write(tmp_path / "README", "not a text")
    write(tmp_path / "neg/.DS_Store", b"\0\0\xff")
    write(tmp_path / ".git/config", b"\0\0\xff")
    found = read(tmp_path, "labelled")
    assert (found.inputs, found.answers) == (["bad", "good\n\nfilm", "fine"], ["neg", "pos", "pos"])
    assert found.where(1) == str(tmp_path / "pos/1_9.txt")
    assert found.notes == ("files beside the folders of the labels, left out: 1",)


def test_running_text_of_one_file_of_several_and_of_a_folder(tmp_path):
    one, two = write(tmp_path / "x/b.txt", "two\r\n\r\nlines"), write(tmp_path / "x/a/z.md", "\ufefffirst\n\n")
    assert read(one, "running").inputs == ["two\n\nlines\n"]
    assert read([one, two], "running").inputs == ["two\n\nlines\nfirst\n\n"]
    found = read(tmp_path / "x", "running")
    assert found.inputs == ["first\ntwo\n\nlines\n"] and found.answers == [""]
    assert detect(tmp_path / "x", "running").why.startswith("2 files, a/z.md, b.txt")


def test_running_text_of_records(tmp_path):
    path = write(tmp_path / "a.jsonl", json_lines([{"text": "a\nb"}, {"text": "c\n"}]))
    assert read(path, "running").inputs == ["a\nb\nc\n"]
    table = write(tmp_path / "a.csv", 'text\n"hello, you"\nworld\n')
    assert read(table, "running").inputs == ["hello, you\nworld\n"]


def test_a_file_beside_a_folder_is_not_said_to_be_missing(tmp_path):
    write(tmp_path / "films/pos/1", "good")
    more = write(tmp_path / "more.csv", "text,label\nfine,pos\n")
    with pytest.raises(ValueError, match="more.csv is a file, and no folder. Expected a folder of text files."):
        read([tmp_path / "films", more], "labelled")
