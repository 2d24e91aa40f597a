import gzip
import io
import itertools
import json
import shutil
import subprocess
import sys
import types

import numpy as np
import pytest

from serving.runtime import Attention, Result
from serving.runtime.errors import DamagedError
from tests.house_rules import ROOT
from tests.serving import fake_artefact
from tests.shared import python
from tools import cli, run
from tools.figures import draw_attention


@pytest.fixture(scope="module")
def artefact(tmp_path_factory):
    return str(fake_artefact.write(tmp_path_factory.mktemp("echo")))


@pytest.fixture(scope="module")
def others(tmp_path_factory):
    """An artefact of every other kind."""
    home = tmp_path_factory.mktemp("others")
    return {kind: str(fake_artefact.write(home / kind, kind)) for kind in ("continue", "classify", "tag")}


def call(*arguments):
    return cli.main(["run", *map(str, arguments)])


def feed(monkeypatch, content):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


def test_texts(artefact, capsys):
    assert call(artefact, "abc", "", "b 2") == 0
    assert capsys.readouterr().out == "abc\n\nb 2\n"


def test_standard_input_line_by_line(artefact, capsys, monkeypatch):
    # A vertical tab and U+2028 end a line for str.splitlines, but not for `wc -l`.
    feed(monkeypatch, b"\xef\xbb\xbfabc\r\n\nb\x0b\xe2\x80\xa82\ngh")
    assert call(artefact, "--beam", 1) == 0
    assert capsys.readouterr().out == "abc\n\nb 2\ngh\n"


@pytest.mark.parametrize(
    "content", ["a\nb\n".encode("utf-16"), gzip.compress(b"a\nb\n"), b"PK\x03\x04\nb\n", b"%PDF-1.7\n"]
)
def test_what_is_no_text_is_refused_as_a_whole(artefact, content, capsys, monkeypatch, tmp_path):
    """Lines of UTF-16 were answered, each character with a NUL behind it."""
    (tmp_path / "a.txt").write_bytes(content)
    feed(monkeypatch, content)
    for arguments, name in (([], "standard input"), (["--file", tmp_path / "a.txt"], "a.txt")):
        assert call(artefact, *arguments) == 2
        told = capsys.readouterr()
        assert f"{name} is " in told.err and "Expected lines of text" in told.err and not told.out


def test_a_file_of_records_is_read_as_lines_and_that_is_told(artefact, capsys, tmp_path):
    (tmp_path / "a.csv").write_text("text,label\nb,c\n")
    assert call(artefact, "--file", tmp_path / "a.csv") == 0
    assert "a.csv is read as lines of text, not as records: give a file of the texts alone" in capsys.readouterr().err


PAGE = "# ab\r\n\r\n12 ab\ncd 12 ef\n- a\n\n```sh\nx \n\ny\n```\n<script>\nif (a<b)\n</script>"
ECHOED = PAGE.replace("ab\ncd", "ab cd")  # the echo of each sentence, which is asked in one line


@pytest.fixture
def translator(tmp_path):
    directory = fake_artefact.write(tmp_path / "echo")
    fake_artefact.change(directory, task="translate de-en")
    return str(directory)


def test_a_page_is_one_text(translator, capsys, monkeypatch, tmp_path):
    """Its lines were texts of their own, so that code over several lines was translated, and halves of sentences."""
    monkeypatch.chdir(tmp_path)
    for name, options in (("page.md", ()), ("PAGE.HTML", ()), ("page.txt", ("--sentences", "page"))):
        (tmp_path / name).write_bytes(PAGE.encode() + b"\n")
        assert call(translator, "--file", name, *options) == 0
        assert capsys.readouterr().out == ECHOED.replace("\r", "") + "\n", name
        assert call(translator, "--file", name, *options, "--out", name + ".out") == 0
        assert (tmp_path / (name + ".out")).read_bytes() == ECHOED.encode() + b"\n", name
    feed(monkeypatch, b"ab\nb\n")
    assert call(translator, "--sentences", "page", "--json") == 0
    assert '"output": "ab b"' in capsys.readouterr().out
    for name, options in (("page.txt", ()), ("page.md", ("--sentences", "off")), ("page.md", ("--sentences", "on"))):
        assert call(translator, "--file", name, *options) == 0
        assert "\n12 ab\ncd 12 ef\n" in capsys.readouterr().out, "a line is a text"


def test_a_sentence_of_a_page_that_is_too_long_or_unsure_stays(translator, capsys, tmp_path):
    (tmp_path / "page.md").write_text(text := "ab\n\n" + "b" * 2000 + "\n\nef\n")
    assert call(translator, "--file", tmp_path / "page.md", "--overlong", "refuse") == 0
    told = capsys.readouterr()
    assert told.out == text
    assert "page 1: sentence 2: it stays as it is: " in told.err and "at most" in told.err
    assert call(translator, "--file", tmp_path / "page.md", "--min-confidence", 1) == 0
    assert "sentence 1: it stays as it is: the model is not sure enough" in capsys.readouterr().err


def test_a_page_that_is_too_large_is_refused(translator, capsys, monkeypatch, tmp_path):
    """It was read as a whole, however large."""
    monkeypatch.setattr("serving.corpus.lines.MOST_LINE", 20)
    page = tmp_path / "page.md"
    for text, status in (("ab\n" * 7, 1), ("ab\n" * 6, 0)):
        page.write_text(text)
        assert call(translator, "--file", page) == status
        assert ("a page of 21 bytes, at most 20" in capsys.readouterr().err) == bool(status)
    page.write_text("ab\n" * 7)
    assert call(translator, "--file", page, "--out", tmp_path / "out.txt") == 1
    assert (tmp_path / "out.txt").read_text() == "\n"


@pytest.mark.parametrize(
    "option", [("--server", "http://127.0.0.1:9"), ("--shard", "1/2", "--out", "a"), ("--sample",)]
)
def test_what_a_page_cannot_have_is_refused(translator, option, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "page.md").write_text("ab\n")
    assert call(translator, "--file", "page.md", "--sentences", "page", *option) == 2
    assert "--sentences page " in (told := capsys.readouterr().err) and f"{option[0]}." in told


def test_of_many_doubts_the_first_are_told_and_every_refusal(artefact, capsys, monkeypatch):
    feed(monkeypatch, "☃\n".encode() * 30 + b"\xff\n" * 30)
    assert call(artefact) == 1
    told = capsys.readouterr().err.splitlines()
    doubts = [line for line in told if "unknown to the model" in line]
    assert len(doubts) == 20 and sum("is not answered" in line for line in told) == 30
    assert told.count("seqzoo run: further ones are not told; --json and Parquet have every reason") == 1


def test_lines_of_another_encoding_are_told_what_to_do(artefact, capsys, monkeypatch):
    feed(monkeypatch, "März\nMai\n".encode("cp1252"))
    assert call(artefact) == 1
    assert "1 of 2 texts is not answered; convert what is not UTF-8, for example with iconv" in capsys.readouterr().err


@pytest.mark.parametrize("name, said", [("stdin", "standard input holds no line"), ("stdout", "output is closed")])
def test_closed_streams_are_told(artefact, capsys, monkeypatch, name, said):
    monkeypatch.setattr(sys, name, None)  # what Python makes of a stream that its parent has closed
    assert call(artefact, *(["abc"] if name == "stdout" else [])) == (1 if name == "stdout" else 2)
    assert said in capsys.readouterr().err


def test_a_file_longer_than_a_chunk(artefact, capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(run, "CHUNK", 5)
    path = tmp_path / "source.txt"
    path.write_text("".join(f"{number}\n" for number in range(13)))
    assert call(artefact, "--file", path, "--n-best", 1) == 0
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert lines == [[str(number + 1), "-0.5000", str(number)] for number in range(13)]


def test_json(artefact, capsys):
    assert call(artefact, "日本", "ab", "--json", "--n-best", 2) == 0
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert first["output"] == first["input"] == "日本"
    best = [{"text": "ab", "score": -0.5}, {"text": "a", "score": -1.5}]
    assert 0 < second.pop("confidence") < 1
    assert second == {"input": "ab", "output": "ab", "score": -0.5, "n_best": best}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a", "--file", "b.txt"], "texts and --file: give one of them"),
        (["--file", "nowhere.txt"], "cannot read nowhere.txt: No such file"),
        (["a", "b", "--plot-attention", "a.png"], "exactly one text; received 2"),
        (["a", "--plot-attention", "a.txt"], "received a.txt"),
        (["a", "--plot-attention", "."], "received ."),
        (["a", "--beam", "7"], "no graph for beam 7"),
        (["a", "--n-best", "0"], "between 1 and the beam width 4; received 0"),
        (["a", "--threads", "-1"], "threads must be a positive integer"),
        (["a", "--top-k", "3", "--seed", "1"], "--top-k, --seed is about sampling: give --sample, too"),
        (["a", "--sample", "--beam", "4"], "either samples or searches"),
        (["a", "--sample", "--top-p", "1.5"], "top_p must be a number > 0 and <= 1; received 1.5"),
        (["a", "--length", "9"], "coverage_penalty; received length"),
    ],
)
def test_wrong_use(artefact, capsys, arguments, message):
    assert call(artefact, *arguments) == 2
    captured = capsys.readouterr()
    assert message in captured.err and captured.err.count("\n") == 1
    assert not captured.out  # what is wrong is found before anything is answered


@pytest.mark.parametrize("order", list(itertools.permutations(("DIR", "--n-best 2", "--json", "ab"))))
def test_options_and_texts_in_any_order(artefact, capsys, order):
    if order.index("DIR") > order.index("ab"):
        order = order[::-1]  # the directory comes before the texts
    assert call(*" ".join(order).replace("DIR", artefact).split(), "--", "-3") == 0
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert (first["input"], second["input"]) == ("ab", "-3")
    assert [each["text"] for each in first["n_best"]] == ["ab", "a"]


@pytest.mark.parametrize("kind", ["classify", "tag"])
@pytest.mark.parametrize("option", [["--beam", "4"], ["--n-best", "2"], ["--sample"], ["--plot-attention", "a.png"]])
def test_what_labels_neither_searches_nor_samples(others, capsys, kind, option):
    assert call(others[kind], "a", *option) == 2
    assert f"of kind '{kind}'" in capsys.readouterr().err


def test_a_label_and_its_probability(others, capsys):
    assert call(others["classify"], "abc", "") == 0
    assert capsys.readouterr().out == "zwei\t1.0000\n\n"
    assert call(others["classify"], "abc", "--json") == 0
    probabilities = {"zwei": 1.0, "null": 0.0, "eins": 0.0}
    expected = {"input": "abc", "label": "zwei", "probability": 1.0, "probabilities": probabilities, "confidence": 1.0}
    assert json.loads(capsys.readouterr().out) == expected


def test_words_and_their_tags(others, capsys):
    assert call(others["tag"], "ab  日 ", "") == 0
    assert capsys.readouterr().out == "ab/eins 日/eins\n\n"
    assert call(others["tag"], "ab  日 ", "--json") == 0
    (_, word) = json.loads(capsys.readouterr().out)["words"]
    assert word == {"text": "日", "tag": "eins", "start": 4, "end": 5, "score": 1.0}


def test_a_prompt_goes_on(others, capsys, monkeypatch):
    assert call(others["continue"], "abc", "--length", 6) == 0
    assert capsys.readouterr().out == " abc a\n"
    monkeypatch.setattr(run, "CHUNK", 2)
    lines = b"a\n" * 5
    feed(monkeypatch, lines)
    assert call(others["continue"], "--sample", "--seed", 2, "--top-k", 3, "--n-best", 2) == 0
    chunked = capsys.readouterr().out
    monkeypatch.setattr(run, "CHUNK", 9)
    feed(monkeypatch, lines)
    assert call(others["continue"], "--sample", "--seed", 2, "--top-k", 3, "--n-best", 2) == 0
    assert capsys.readouterr().out == chunked
    rows = [line.split("\t") for line in chunked.splitlines()]
    assert [row[0] for row in rows] == ["1", "1", "2", "2", "3", "3", "4", "4", "5", "5"]
    assert len({row[1] for row in rows}) == 10  # every sample has numbers of its own


def test_samples_as_json(others, capsys):
    assert call(others["continue"], "ab", "--sample", "--n-best", 2, "--json") == 0
    record = json.loads(capsys.readouterr().out)
    assert record["output"] == " ab" and [each["text"] for each in record["n_best"]] == [" ab", " ab"]


def test_wrong_input(artefact, capsys, monkeypatch, tmp_path):
    feed(monkeypatch, b"")
    assert call(artefact) == 2
    assert "no input: standard input holds no line" in capsys.readouterr().err
    assert call(tmp_path / "nowhere", "a") == 2
    assert "there is no such directory" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["model.onnx", "source.spm"])
def test_a_damaged_artefact_is_a_failure(artefact, capsys, monkeypatch, tmp_path, name):
    damaged = shutil.copytree(artefact, tmp_path / "damaged")
    (damaged / name).write_bytes(b"other bytes")
    assert call(damaged, "ab") == 1
    captured = capsys.readouterr()
    assert "is damaged" in captured.err and captured.err.count("\n") == 1 and not captured.out
    monkeypatch.setenv("SEQZOO_DEBUG", "1")
    with pytest.raises(DamagedError):  # with a traceback
        call(damaged, "ab")


def test_a_bad_line_costs_itself_alone(artefact, others, capsys, monkeypatch):
    monkeypatch.setattr(run, "CHUNK", 2)
    long = b"a" * 1500
    lines = b"\n".join([b"abc", b"a\xffb", long, b"", b"\xed\xa0\x80", b"gh", b"a" * (1 << 20), b"h"])
    feed(monkeypatch, lines)
    assert call(artefact) == 1
    captured = capsys.readouterr()
    assert captured.out == "abc\n\n\n\n\ngh\n\nh\n"
    assert captured.err.splitlines() == [
        "seqzoo run: line 2 is not answered: not UTF-8: the byte 0xff at character 2",
        "seqzoo run: line 3 is not answered: 1502 tokens, at most 1024",
        "seqzoo run: line 5 is not answered: not UTF-8: the byte 0xed at character 1",
        "seqzoo run: line 7 is not answered: 1048576 characters, at most 16384",
        "seqzoo run: 4 of 8 texts are not answered; convert what is not UTF-8, for example with iconv; with --overlong "
        "truncate, a part of a long text is read",
    ]
    feed(monkeypatch, b"abc\na\xffb\n")
    assert call(artefact) == 1
    assert "overlong" not in capsys.readouterr().err, "no line was too long"
    feed(monkeypatch, lines)
    assert call(artefact, "--overlong", "truncate", "--json") == 1
    captured = capsys.readouterr()
    records = [json.loads(line) for line in captured.out.splitlines()]
    assert [len(record["output"]) for record in records] == [3, 0, 1022, 0, 0, 2, 1022, 1]
    assert records[2]["warning"].startswith("only the first 1024 tokens are read, of 1502 tokens; ")
    assert records[1]["error"] == "not UTF-8: the byte 0xff at character 2" and "error" not in records[0]
    assert records[1]["input"].encode("utf-8", "surrogateescape") == b"a\xffb", "nothing of the input is lost"
    assert "line 3: only the first 1024 tokens are read, of 1502 tokens" in captured.err
    assert "are read, of 1048576 characters" in captured.err


def test_a_text_of_the_command_line_that_is_no_utf_8(artefact, capsys):
    assert call(artefact, "abc", "a\udcff", "h") == 1
    captured = capsys.readouterr()
    assert captured.out == "abc\n\nh\n"
    assert "text 2 is not answered: not UTF-8: the byte 0xff at character 2" in captured.err


def test_an_answer_with_line_breaks_stays_one_line_and_none_steers_a_terminal(capsys):
    class Writer:
        kind, overlong = "continue", "truncate"

        def run(self, texts):
            return [Result(f"{text}\x1b[2J\r\n!", 0.0, ()) for text in texts]

    args = types.SimpleNamespace(texts=["a", "b"], file=None, json=False, n_best=None)
    assert run._answer_all(Writer(), args, {}) == (2, 0)
    assert capsys.readouterr().out == "a\\u001b[2J\\r\\n!\nb\\u001b[2J\\r\\n!\n"
    args.texts = ["a"]
    run._answer_all(Writer(), args, {})
    assert capsys.readouterr().out == "a\\u001b[2J\r\n!\n"


def test_output_is_utf_8_whatever_the_locale(artefact):
    assert python("-m", "tools.cli", "run", artefact, "日本", PYTHONIOENCODING="ascii").stdout == "日本\n"


def test_plot_attention(artefact, capsys, tmp_path):
    path = tmp_path / "maps" / "map.png"
    assert call(artefact, "a日", "--plot-attention", path) == 0
    assert path.read_bytes().startswith(b"\x89PNG")
    captured = capsys.readouterr()
    assert captured.out == "a日\n"
    assert f"attention map in {path}" in captured.err


def test_signs_without_a_font_are_boxes_and_dollars_no_formulas(capsys, tmp_path):
    attention = Attention(("$\\frac$", "\U000f0000"), ("x",), np.full((1, 2), 0.5, "float32"))
    draw_attention(attention, tmp_path / "map.svg")
    assert "no font on this machine" in capsys.readouterr().err
    assert (tmp_path / "map.svg").stat().st_size > 0


def test_a_reader_that_stops_early_is_no_bug(artefact):
    process = subprocess.Popen(
        [sys.executable, "-m", "tools", "run", artefact, *"abcdefgh"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(timeout=60) == 1
    process.stderr.close()
