"""What is broken is told: the message names the file and the line, what was found and how to mend it."""

import sys

import pytest

from tests.data.formats import write
from tests.data.formats.broken import TABLE
from zoo.data.formats import detect, read


def put(folder, files):
    for name, data in files.items():
        if data is None:
            (folder / name).mkdir(parents=True)
        else:
            write(folder / name, data)


@pytest.mark.parametrize("broken", TABLE, ids=lambda broken: f"{broken.kind}-{broken.found[:40]}")
def test_a_message_names_file_and_line_what_was_found_and_how_to_mend_it(tmp_path, broken):
    put(tmp_path, broken.files)
    files = [tmp_path / name for name in broken.read or broken.files]
    with pytest.raises(ValueError) as caught:
        read(files, broken.kind, rules_off=["empty"], **broken.options)
    said = str(caught.value)
    about_the_question = broken.options.keys() & {"format", "columns", "encoding"} and broken.line is None
    where = str(tmp_path / (broken.at or next(iter(broken.files))))
    assert about_the_question or (f"{where}:{broken.line}: " if broken.line else where) in said
    assert broken.found in said and broken.mend in said
    assert "\n" not in said and said.endswith((".", "?", "}")), "one problem is one sentence or two"


def test_no_two_variants_are_told_alike():
    assert len({(broken.found, broken.mend) for broken in TABLE}) > 60


def test_the_first_few_of_many_problems_are_told(tmp_path):
    path = write(tmp_path / "a.csv", "text,label\n" + "good,\n" * 30 + "bad,neg\n")
    with pytest.raises(ValueError) as caught:
        read(path, "labelled", rules_off=["empty"])
    first, *told = str(caught.value).split("\n")
    assert first == "30 problems in the data, the first 5 of them:"
    assert [line.split(": ")[0].strip() for line in told] == [f"{path}:{line}" for line in range(2, 7)]


def test_what_is_wrong_with_the_question(tmp_path):
    with pytest.raises(ValueError, match="kind must be one of pairs, .*; received 'pair'. Did you mean 'pairs'"):
        read(tmp_path / "a.csv", "pair")
    with pytest.raises(ValueError, match="No files were given"):
        read([], "pairs")


def test_detection_refuses_as_reading_does(tmp_path):
    path = write(tmp_path / "a.csv", "text,label\n,pos\n")
    with pytest.raises(ValueError, match="a.csv:2: the text is empty"):
        detect(path, "labelled", rules_off=["empty"])
    with pytest.raises(ValueError, match=r"a.csv: no examples: all are left out: examples without a text.*a.csv:2"):
        detect(path, "labelled")


def test_without_the_library_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(
        ValueError, match=r"hf://imdb is read by the library datasets.*pip install 'seqzoo\[huggingface\]'"
    ):
        read("hf://imdb", "labelled")
