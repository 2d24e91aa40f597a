"""Stopped at any moment, a run goes on where it was and ends with the bytes of an undisturbed one."""

import fcntl
import gzip
import json
import lzma

import pytest

from serving.corpus import disk, lines, process
from serving.corpus.lines import Lines, Shard
from serving.corpus.process import differences
from serving.runtime.errors import DamagedError, ServingError
from tests.serving.corpus import echo

TEXT = "".join(f"{'abc?'[number % 4] * (number % 5)}-{number}\n" for number in range(40))
IDENTITY = {"model": "backwards"}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(lines, "BLOCK_LINES", 6)
    monkeypatch.setattr(disk.os, "fsync", lambda file: None)  # nothing here cuts the power


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "in.txt"
    path.write_text(TEXT)
    return path


def run(source, out, resume=False, shard="1/1", identity=IDENTITY, **kwargs):
    shard = Shard(*map(int, shard.split("/")))
    ask = kwargs.pop("ask", echo.ask)
    return process.process(Lines(source, shard), out, echo.form(out), ask, identity=identity, resume=resume, **kwargs)


def test_answers_in_order(source, tmp_path):
    done = run(source, tmp_path / "out.txt")
    assert (tmp_path / "out.txt").read_text() == echo.expected(TEXT)
    assert (done.texts, done.refused) == (40, TEXT.count("\n") - sum("?" not in line for line in TEXT.splitlines()))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.txt", "out.txt", "out.txt.run.json"]


class Killed(BaseException):
    """The end of the process, in the middle of something."""


class Killing:
    """The functions of `disk`, until the process ends at the operation `at`: before it, in its midst, or after it."""

    def __init__(self, monkeypatch, at, how):
        self.at, self.how, self.count = at, how, 0
        for name in ("append", "sync", "rename", "remove"):
            monkeypatch.setattr(disk, name, self._stopped(getattr(disk, name), name))

    def _stopped(self, function, name):
        def stopped(*arguments):
            self.count += 1
            if self.count < self.at:
                return function(*arguments)
            if self.count == self.at and self.how == "after":
                function(*arguments)
            if self.count == self.at and self.how == "torn" and name == "append":
                file, content = arguments
                function(file, content[: len(content) // 2])
            raise Killed

        return stopped


@pytest.mark.parametrize("how", ["before", "torn", "after"])
@pytest.mark.parametrize("name", ["out.txt", "out.txt.gz"])
def test_killed_at_every_operation_on_the_disk(source, tmp_path, monkeypatch, how, name):
    undisturbed = tmp_path / "whole" / name
    undisturbed.parent.mkdir()
    run(source, undisturbed)
    kills, at = 0, 1
    while True:
        out = tmp_path / str(at) / name
        out.parent.mkdir()
        with monkeypatch.context() as patch:
            killing = Killing(patch, at, how)
            try:
                run(source, out)
            except Killed:
                kills += 1
            if killing.count < at:
                break
        if out.exists():
            assert out.read_bytes() == undisturbed.read_bytes()
        asked = []
        run(source, out, resume=True, ask=lambda block, asked=asked: asked.append(block.number) or echo.ask(block))
        assert out.read_bytes() == undisturbed.read_bytes()
        assert not out.with_name(name + ".partial").exists()
        assert len(asked) == len(set(asked))
        at += 1
    assert kills == at - 1 > 30  # seven blocks of four operations each, and the end


def test_killed_again_and_again(source, tmp_path, monkeypatch):
    """Each attempt gets a few operations further; the blocks that are done are not asked again."""
    out, asked, attempts = tmp_path / "out.txt", [], 0
    while not out.exists():
        with monkeypatch.context() as patch:
            Killing(patch, 6, "torn")
            try:
                run(source, out, resume=True, ask=lambda block: asked.append(block.number) or echo.ask(block))
            except Killed:
                attempts += 1
        assert attempts < 30
    run(source, out, resume=True)
    assert out.read_text() == echo.expected(TEXT) and attempts > 4
    assert max(asked.count(number) for number in asked) <= 2


def test_shards_together_are_the_whole(source, tmp_path):
    for index in (3, 1, 2):
        run(source, tmp_path / f"{index}.txt", shard=f"{index}/3")
    assert "".join((tmp_path / f"{index}.txt").read_text() for index in (1, 2, 3)) == echo.expected(TEXT)


def test_more_shards_than_lines(tmp_path):
    (tmp_path / "in.txt").write_text("abc\nd")
    for index in range(1, 9):
        run(tmp_path / "in.txt", tmp_path / f"{index}.txt", shard=f"{index}/8")
    assert "".join((tmp_path / f"{index}.txt").read_text() for index in range(1, 9)) == "1\tcba\n2\td\n"


@pytest.mark.parametrize(("name", "opened"), [("a.gz", gzip.open), ("a.xz", lzma.open)])
def test_compressed_answers(source, tmp_path, name, opened):
    run(source, tmp_path / name)
    with opened(tmp_path / name, "rt") as file:
        assert file.read() == echo.expected(TEXT)
    run(source, tmp_path / f"empty-{name}", shard="99/999")
    with opened(tmp_path / f"empty-{name}", "rt") as file:
        assert file.read() == ""
    assert (tmp_path / f"empty-{name}").stat().st_size > 0  # an empty file is no whole one


def test_finished_is_finished(source, tmp_path):
    out = tmp_path / "out.txt"
    done = run(source, out)
    assert run(source, out, resume=True, ask=None) == done
    with pytest.raises(ValueError, match="exists and is not overwritten"):
        run(source, out)


def stopped(source, out, after=2, **kwargs):
    """A run that ends with its `after`-th block."""

    def ask(block, seen=[]):  # noqa: B006
        if block.number >= 6 * after:
            raise KeyboardInterrupt
        return echo.ask(block)

    with pytest.raises(KeyboardInterrupt):
        run(source, out, ask=ask, **kwargs)


def test_what_was_asked_otherwise_is_not_gone_on_with(source, tmp_path):
    out = tmp_path / "out.txt"
    stopped(source, out)
    with pytest.raises(ValueError, match="holds an unfinished run.*--resume"):
        run(source, out)
    with pytest.raises(ValueError, match='model was "backwards" and is "other"; beam was not given and is 4'):
        run(source, out, resume=True, identity={"model": "other", "beam": 4})
    with pytest.raises(ValueError, match='shard was "1/1" and is "1/2"'):
        run(source, out, resume=True, shard="1/2")
    source.write_text(TEXT.replace("a", "b"))
    with pytest.raises(ValueError, match="input.sha256 was"):
        run(source, out, resume=True)
    source.write_text(TEXT)
    run(source, out, resume=True)
    assert out.read_text() == echo.expected(TEXT)
    with pytest.raises(ValueError, match='is complete, but was asked otherwise: model was "backwards"'):
        run(source, out, resume=True, identity={"model": "other"})


def test_a_file_of_somebody_else(source, tmp_path):
    out = tmp_path / "out.txt"
    out.write_text("precious")
    for resume in (False, True):
        with pytest.raises(ValueError, match="is not overwritten"):
            run(source, out, resume=resume)
    assert out.read_text() == "precious"


def test_answers_that_were_changed_are_noticed(source, tmp_path):
    out = tmp_path / "out.txt"
    stopped(source, out)
    answers = tmp_path / "out.txt.partial" / "answers"
    whole = answers.read_bytes()
    for damaged in (whole[:-1], b"x" + whole[1:]):
        answers.write_bytes(damaged)
        with pytest.raises(ServingError, match="was changed or is damaged"):
            run(source, out, resume=True)
    answers.write_bytes(whole + b"a torn block")
    run(source, out, resume=True)
    assert out.read_text() == echo.expected(TEXT)
    out.write_text("changed")
    with pytest.raises(DamagedError, match="changed since"):
        run(source, out, resume=True)


def test_a_journal_without_a_beginning(source, tmp_path):
    out = tmp_path / "out.txt"
    stopped(source, out)
    (tmp_path / "out.txt.partial" / "journal.jsonl").write_bytes(b"\0" * 100)
    with pytest.raises(ServingError, match="is damaged: it does not say"):
        run(source, out, resume=True)


def test_a_run_without_an_answer_leaves_nothing(source, tmp_path):
    stopped(source, tmp_path / "out.txt", after=0)
    assert [path.name for path in tmp_path.iterdir()] == ["in.txt"]


def test_one_process_writes(source, tmp_path):
    out = tmp_path / "out.txt"
    stopped(source, out)
    with open(tmp_path / "out.txt.partial" / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(ServingError, match="is being written by another process"):
            run(source, out, resume=True)
    run(source, out, resume=True)


def test_an_input_that_changes_meanwhile(source, tmp_path):
    def ask(block):
        if block.number == 12:
            source.write_text(TEXT.upper())
        return echo.ask(block)

    with pytest.raises(ValueError, match="was changed while it was read"):
        run(source, tmp_path / "out.txt", ask=ask)
    assert not (tmp_path / "out.txt").exists()
    source.write_text("a\n")
    with pytest.raises(ValueError, match="input.sha256 was"):
        run(source, tmp_path / "out.txt", resume=True)


def test_a_full_disk(source, tmp_path, monkeypatch):
    def full(file, content):
        if len(content) > 40 and file.tell() > 100:
            file.write(content[:20])
            file.flush()
            raise OSError(28, "No space left on device")
        return append(file, content)

    append, out = disk.append, tmp_path / "out.txt"
    with monkeypatch.context() as patch:
        patch.setattr(disk, "append", full)
        with pytest.raises(OSError, match="No space left"):
            run(source, out)
    run(source, out, resume=True)
    assert out.read_text() == echo.expected(TEXT)


def test_reports(source, tmp_path):
    told = []
    stopped(source, tmp_path / "out.txt")
    run(source, tmp_path / "out.txt", resume=True, report=lambda done, share: told.append((done.texts, share)))
    assert [count for count, _ in told] == [12, 18, 24, 30, 36, 40]
    shares = [share for _, share in told]
    assert shares == sorted(shares) and 0 < shares[0] < 0.5 and shares[-1] == 1


def test_the_record_says_what_was_asked(source, tmp_path):
    run(source, tmp_path / "out.txt")
    record = json.loads((tmp_path / "out.txt.run.json").read_text())
    assert record["identity"]["model"] == "backwards" and record["identity"]["shard"] == "1/1"
    assert record["answers"]["texts"] == 40


@pytest.mark.parametrize(("name", "message"), [("no/out.txt", "there is no folder"), (".", "it is a folder")])
def test_where_nothing_can_be_written(source, tmp_path, name, message):
    with pytest.raises(ValueError, match=message):
        run(source, tmp_path / name)


def test_differences_of_nested_settings():
    assert differences({"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}) == "a.c was 2 and is not given"
    assert differences({"a": 1}, {"a": 1}) == ""
