"""`seqzoo run --file IN --out OUT --shard I/N --resume`, for every kind of artefact."""

import gzip
import io
import json
import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from serving.corpus import disk, lines
from tests.house_rules import ROOT
from tests.serving import fake_artefact
from tools import cli
from tools.answers import Progress

KINDS = ("generate", "continue", "classify", "tag", "embed")
TEXTS = b"abc\n\nb 2 c\r\n\xff\n0123456789\n" * 9 + b"a" * 20000 + b"\ngh"


@pytest.fixture(scope="module")
def artefacts(tmp_path_factory):
    home = tmp_path_factory.mktemp("kinds")
    return {kind: str(fake_artefact.write(home / kind, kind)) for kind in KINDS}


@pytest.fixture(autouse=True)
def quickly(monkeypatch, tmp_path):
    monkeypatch.setattr(lines, "BLOCK_LINES", 10)
    monkeypatch.setattr(disk.os, "fsync", lambda file: None)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.txt").write_bytes(TEXTS)


def call(*arguments):
    return cli.main(["run", *map(str, arguments)])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", [[], ["--json"], ["--n-best", "2"], ["--sample", "--seed", "3"]], ids=str)
def test_a_file_has_what_standard_output_has(artefacts, kind, options, capsys, tmp_path):
    labels = kind in ("classify", "tag", "embed")
    if labels and options and options != ["--json"]:
        assert call(artefacts[kind], "--file", "in.txt", "--out", "out.txt", *options) == 2
        assert sorted(path.name for path in tmp_path.iterdir()) == ["in.txt"]
        return
    options = options if kind != "continue" or "--n-best" not in options else [*options, "--sample"]
    assert call(artefacts[kind], "--file", "in.txt", *options) == 1
    shown = capsys.readouterr().out
    parts = [f"out-0000{index}-of-00003.txt" for index in (1, 2, 3)]
    for index in (1, 2, 3):
        call(artefacts[kind], "--file", "in.txt", "--out", "out.txt", "--shard", f"{index}/3", *options)
    together = "".join((tmp_path / part).read_text(encoding="utf-8") for part in parts)
    if "--json" in options:  # a score may differ in its last digits, because other texts are in the batch
        assert [json.loads(line) for line in together.splitlines()] == [json.loads(line) for line in shown.splitlines()]
    else:
        assert together == shown


def test_a_line_that_is_not_answered_costs_no_other(artefacts, capsys, tmp_path):
    assert call(artefacts["generate"], "--file", "in.txt", "--out", "out.txt") == 1
    said = capsys.readouterr().err
    assert "line 4 is not answered: not UTF-8: the byte 0xff" in said
    assert "line 46 is not answered: 20000 characters, at most 16384" in said
    assert "out.txt: 47 lines, 10 of them not answered; " in said
    answers = (tmp_path / "out.txt").read_text().splitlines()
    assert len(answers) == 47 and answers[:5] == ["abc", "", "b 2 c", "", "0123456789"] and answers[45:] == ["", "gh"]


def test_parts_say_what_is_missing_and_how_they_are_put_together(artefacts, capsys, tmp_path):
    for shard in ("1/2", "2/2", "2/2"):
        call(artefacts["classify"], "--file", "in.txt", "--out", "a b.txt", "--shard", shard, "--resume")
    said = capsys.readouterr().err
    assert "1 of 2 parts are missing: 2/2\n" in said and "nothing was left to do" in said
    command = said.splitlines()[-1].partition("together: ")[2]
    assert command == "cat 'a b-'*-of-00002.txt > 'a b.txt'"
    subprocess.run(["bash", "-c", command], cwd=tmp_path, check=True)
    assert call(artefacts["classify"], "--file", "in.txt", "--out", "whole.txt") == 1
    assert (tmp_path / "a b.txt").read_bytes() == (tmp_path / "whole.txt").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--out", "o", "--file", "no.txt"], "cannot read no.txt: No such file"),
        (["--out", "o"], "--out needs a file of texts"),
        (["--shard", "1/2", "--file", "in.txt"], "--shard is about a file of answers: give --out"),
        (["--resume", "--file", "in.txt"], "--resume is about a file of answers: give --out"),
        (["--out", "o", "--file", "in.txt", "--shard", "3/2"], "a part i of 1 to n"),
        (["--out", "o", "--file", "in.txt", "--shard", "two"], "A shard is i/n"),
        (["--out", "in.txt", "--file", "in.txt"], "in.txt exists and is not overwritten"),
        (["--out", "no/o", "--file", "in.txt"], "there is no folder no"),
        (["--out", "o.xlsx", "--file", "in.txt"], "o.xlsx would be a .xlsx file of plain lines"),
        (["--out", "o.CSV", "--file", "in.txt"], "such as o.txt, .parquet for a table"),
        (["--out", "o.jsonl", "--file", "in.txt"], "o.jsonl would be a .jsonl file of plain lines. Give --json, too"),
        (["--out", "o", "--file", "/dev/null"], "/dev/null is a pipe or a device"),
        (["--out", "o", "--file", "in.txt", "--column", "a"], "--column names a column of a Parquet file"),
        (["--out", "o.parquet", "--file", "in.txt", "--json"], "leave out --json"),
        (["--out", "o", "--file", "in.txt", "--beam", "7"], "no graph for beam 7"),
        (["--out", "o", "--file", "empty.txt"], "no input: empty.txt holds no line"),
        (["--out", "o", "a text"], "--out needs a file of texts"),
    ],
)
def test_wrong_use(artefacts, capsys, tmp_path, arguments, message):
    (tmp_path / "empty.txt").touch()
    assert call(artefacts["generate"], *arguments) == 2
    captured = capsys.readouterr()
    assert message in captured.err and captured.err.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty.txt", "in.txt"]


def test_other_settings_and_another_model_are_told(artefacts, capsys):
    arguments = ["--file", "in.txt", "--out", "out.txt", "--resume"]
    assert call(artefacts["generate"], *arguments) == 1
    assert call(artefacts["generate"], *arguments, "--beam", 1, "--overlong", "truncate") == 2
    assert 'options.overlong was null and is "truncate"' in capsys.readouterr().err
    assert call(artefacts["classify"], *arguments) == 2
    assert "model.manifest was" in capsys.readouterr().err


def test_ctrl_c_says_how_to_go_on(artefacts, capsys, monkeypatch, tmp_path):
    append, count = disk.append, []

    def interrupted(file, content):
        count.append(1)
        if len(count) == 6:
            raise KeyboardInterrupt
        append(file, content)

    with monkeypatch.context() as patch:
        patch.setattr(disk, "append", interrupted)
        assert call(artefacts["generate"], "--file", "in.txt", "--out", "out.txt") == 130
    said = capsys.readouterr().err
    assert "interrupted; what is answered is kept, and the same command with --resume goes on" in said
    assert call(artefacts["generate"], "--file", "in.txt", "--out", "out.txt", "--resume") == 1
    assert call(artefacts["generate"], "--file", "in.txt", "--out", "whole.txt") == 1
    assert (tmp_path / "out.txt").read_bytes() == (tmp_path / "whole.txt").read_bytes()


@pytest.mark.parametrize("kind", KINDS)
def test_parquet_in_and_out(artefacts, kind, tmp_path):
    assert call(artefacts[kind], "--file", "in.txt", "--out", "a.parquet") == 1
    found = parquet.read_table(tmp_path / "a.parquet")
    own = {"tag": ["answer", "score", "words", "entities", "entity_types"], "embed": ["vector"]}.get(
        kind, ["answer", "score"]
    )
    assert found.column_names == ["id", "text", *own, "error", "warning"]
    rows = found.to_pylist()
    assert len(rows) == 47 and rows[3]["error"].startswith("not UTF-8") and rows[0]["error"] is None
    answer = {"generate": "abc", "continue": " abc", "classify": "zwei", "tag": ["null"], "embed": [0, 0, 1]}
    answer, first = answer[kind], rows[0][own[0]]
    assert type(first) is type(answer) and (kind == "tag" or first == answer)
    parquet.write_table(found.select(["text"]), tmp_path / "b.parquet")
    assert call(artefacts[kind], "--file", "b.parquet", "--out", "c.txt", "--column", "text") == (kind != "continue")
    assert len((tmp_path / "c.txt").read_text().split("\n")) == 48


def test_vectors_become_a_matrix_of_numpy(artefacts, capsys, tmp_path):
    """A vector is 1 at the length of the text, with its end, modulo 3; a row without a vector is 0."""
    assert call(artefacts["embed"], "--file", "in.txt", "--out", "a.npy") == 1
    found = np.load(tmp_path / "a.npy")
    assert found.dtype == "float32" and found.shape == (47, 3)
    assert found[:5].tolist() == [[0, 0, 1], [0, 0, 0], [0, 1, 0], [0, 0, 0], [1, 0, 0]]
    for index in (1, 2):
        call(artefacts["embed"], "--file", "in.txt", "--out", "b.npy", "--shard", f"{index}/2")
    parts = [np.load(tmp_path / f"b-0000{index}-of-00002.npy") for index in (1, 2)]
    np.testing.assert_array_equal(np.concatenate(parts), found)
    assert call(artefacts["classify"], "--file", "in.txt", "--out", "c.npy") == 2
    assert "would hold vectors, and this model is of the kind 'classify'" in capsys.readouterr().err


@pytest.mark.parametrize("out", [[], ["--out", "a.txt"]], ids=["shown", "written"])
def test_a_row_without_a_text_is_not_answered(artefacts, capsys, tmp_path, out):
    parquet.write_table(pyarrow.table({"text": ["abc", None, "", "b 2"]}), tmp_path / "null.parquet")
    assert call(artefacts["generate"], "--file", "null.parquet", *out) == 1
    captured = capsys.readouterr()
    assert "seqzoo run: row 2 is not answered: no text: the row holds null" in captured.err
    assert "1 of 4 texts is not answered" in captured.err or out
    assert ((tmp_path / "a.txt").read_text() if out else captured.out) == "abc\n\n\nb 2\n"


def test_compressed_lines_without_a_file_of_answers(artefacts, capsys, tmp_path):
    with gzip.open(tmp_path / "in.txt.gz", "wb") as file:
        file.write(TEXTS)
    assert call(artefacts["generate"], "--file", "in.txt.gz") == call(artefacts["generate"], "--file", "in.txt") == 1
    shown = capsys.readouterr().out
    assert shown[: len(shown) // 2] == shown[len(shown) // 2 :]


def test_a_line_that_says_how_far_it_is(monkeypatch, capsys):
    clock = iter([0.0, 0.0, 5.0, 5.0, 20.0, 20.0, 20.0])
    monkeypatch.setattr("tools.answers.time.monotonic", lambda: next(clock))
    progress = Progress("line")
    for count, share in ((100, 0.1), (200, 0.2), (700, 0.7)):
        progress(count, share)
    said = capsys.readouterr().err
    assert said == " 70%  700 lines, 30 a second, 0:10 left\n"


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_without_rich_a_terminal_has_lines(monkeypatch):
    monkeypatch.setattr("tools.answers.EVERY", 0)
    for missing in (True, False):
        monkeypatch.setattr(sys, "stderr", Terminal())
        if missing:
            monkeypatch.setitem(sys.modules, "rich.console", None)
        else:
            monkeypatch.delitem(sys.modules, "rich.console")
        progress = Progress("line")
        progress(0, 0.0)
        progress(10, 0.5)
        progress.close()
        said = sys.stderr.getvalue()
        assert ("\x1b[" in said) != missing and "10 lines" in said


@pytest.mark.slow
def test_killed_processes_lose_and_double_nothing(artefacts, tmp_path):
    """Three processes with shards of one file are killed, twelve times in all, each soon after a block."""
    rng, count, kills = random.Random(7), 20_000, 0
    (tmp_path / "long.txt").write_text("".join(f"{rng.randrange(10**9)} abc\n" for _ in range(count)))
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    program = [sys.executable, "-m", "tools", "run", artefacts["generate"], "--beam", "1", "--threads", "1"]

    def blocks(index):
        journal = tmp_path / f"out-0000{index}-of-00003.txt.partial" / "journal.jsonl"
        return journal.read_bytes().count(b"\n") if journal.exists() else 0

    def start(index):
        process = subprocess.Popen(
            [*program, "--file", "long.txt", "--out", "out.txt", "--shard", f"{index}/3", "--resume"],
            cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        return process, blocks(index)

    running = {index: start(index) for index in (1, 2, 3)}
    deadline = time.monotonic() + 300
    while running and time.monotonic() < deadline:
        time.sleep(rng.uniform(0.0, 0.02))
        for index, (process, before) in list(running.items()):
            if kills < 12 and blocks(index) > before:
                process.kill()
            elif process.poll() is None:
                continue
            _, said = process.communicate()
            if process.returncode == 0:
                del running[index]
            else:
                assert process.returncode == -signal.SIGKILL, said
                kills += 1
                running[index] = start(index)
    for process, _ in running.values():
        process.kill()
    assert not running and kills >= 6
    together = "".join((tmp_path / f"out-0000{index}-of-00003.txt").read_text() for index in (1, 2, 3))
    assert together == (tmp_path / "long.txt").read_text()
