"""Files that are whole or not there, and JSON that every reader takes."""

import errno
import json
import math
import os
import subprocess
import sys
import threading

import pytest

from tests.house_rules import ROOT
from zoo.core.storage import (
    LOCK,
    BusyError,
    finite,
    folder_beside,
    json_text,
    one_writer,
    write_atomically,
    write_json,
    write_text,
)


def strict(text):
    """JSON as the standard has it: Python alone reads NaN and Infinity."""

    def refuse(constant):
        raise ValueError(constant)

    return json.loads(text, parse_constant=refuse)


def test_what_json_cannot_say_is_null(tmp_path):
    value = {"a": math.nan, "b": [1.5, math.inf, (-math.inf, "ü")], "c": {"d": 3, "e": None}}
    expected = {"a": None, "b": [1.5, None, [None, "ü"]], "c": {"d": 3, "e": None}}
    assert finite(value) == expected == strict(json_text(value))
    write_json(tmp_path / "deep" / "scores.json", value)
    text = (tmp_path / "deep" / "scores.json").read_text(encoding="utf-8")
    assert strict(text) == expected and "ü" in text and text.endswith("}\n")


def test_a_value_that_is_no_json_leaves_the_old_file(tmp_path):
    write_json(tmp_path / "a.json", [1])
    with pytest.raises(TypeError):
        write_json(tmp_path / "a.json", [object()])
    assert json.loads((tmp_path / "a.json").read_text()) == [1]


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o027, 0o640), (0o002, 0o664), (0o077, 0o600)])
def test_the_umask_says_who_reads_a_file(tmp_path, umask, mode):
    """As for a file that is written plainly, whichever room writes it."""
    from serving.deploy import files
    from zoo.hub import cache

    before = os.umask(umask)
    try:
        write_text(tmp_path / "text", "a")
        cache.write_json(tmp_path / "json", {})
        files.write(tmp_path / "program", "#!/bin/sh\n")
        files.write(tmp_path / "settings", "a")
    finally:
        os.umask(before)
    found = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    program = mode | (mode & 0o444) >> 2
    assert found == {"text": mode, "json": mode, "program": program, "settings": mode}


def test_a_full_disk_leaves_the_old_file(tmp_path, monkeypatch):
    write_text(tmp_path / "a.txt", "old")

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left") as caught:
        write_text(tmp_path / "a.txt", "new")
    assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, str(tmp_path / "a.txt"))
    assert (tmp_path / "a.txt").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_two_writers_of_one_file_take_turns(tmp_path):
    """As two evaluations of one run do, which both write its scores."""
    begun, go_on, seen = threading.Event(), threading.Event(), []
    (tmp_path / ".a.txt.partial").write_text("what a killed process has left, longer than all that follows")

    def first(file):
        file.write(b"first, ")
        begun.set()
        go_on.wait(10)
        file.write(b"whole")

    def run(write):
        try:
            write_atomically(tmp_path / "a.txt", write)
            seen.append((tmp_path / "a.txt").read_text())
        except OSError as error:
            seen.append(error)

    one = threading.Thread(target=run, args=(first,))
    one.start()
    assert begun.wait(10)
    other = threading.Thread(target=run, args=(lambda file: file.write(b"second"),))
    other.start()
    other.join(0.2)
    go_on.set()
    one.join(10)
    other.join(10)
    # Which thread notes first what it saw is for the machine to decide; the order of the two files is not.
    assert len(seen) == 2 and set(seen) <= {"first, whole", "second"}
    assert (tmp_path / "a.txt").read_text() == "second"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


HOLDS = """
import sys
from zoo.core.storage import one_writer
with one_writer(sys.argv[1], reading=sys.argv[2] == "reading"):
    print("in", flush=True)
    sys.stdin.readline()
"""


def test_a_folder_is_the_old_one_or_the_new_one(tmp_path, monkeypatch):
    out = tmp_path / "deep" / "out"

    def write(text):
        with folder_beside(out) as beside:
            (beside / text).touch()
            assert beside.parent.parent == out.parent
            if text == "wrong":
                raise ValueError(text)

    def held():
        return [path.relative_to(tmp_path).as_posix() for path in sorted(tmp_path.rglob("*")) if path.is_file()]

    write("first")
    write("second")
    with pytest.raises(ValueError, match="wrong"):
        write("wrong")
    assert held() == ["deep/out/second"]

    def fail(old, new):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        write("third")
    assert held() == ["deep/out/second"] and os.listdir(out.parent) == ["out"]


def holder(folder, how):
    """Another process in the folder, until a line is written to it."""
    command = [sys.executable, "-c", HOLDS, str(folder), how]
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "in\n"
    return process


@pytest.mark.parametrize(("there", "here"), [("writing", False), ("writing", True), ("reading", False)])
def test_a_folder_has_one_writer(tmp_path, there, here):
    folder = tmp_path / "runs" / "run"
    folder.mkdir(parents=True)
    with holder(folder, there) as process:
        with pytest.raises(BusyError, match="another process is working in .*nothing was changed"):
            with one_writer(folder, reading=here):
                pass
        process.kill()
        process.wait()
        with one_writer(folder):  # what a killed one has left blocks nobody
            pass
    assert not (folder / LOCK).exists()


def test_readers_share_a_folder_and_leave_nothing(tmp_path):
    with holder(tmp_path, "reading") as process:
        with one_writer(tmp_path, reading=True):
            pass
        with pytest.raises(BusyError, match="another process"), one_writer(tmp_path):
            pass
        process.communicate("\n")
    assert not list(tmp_path.iterdir())
    with one_writer(tmp_path / "none", reading=True):
        pass
    assert not list(tmp_path.iterdir())


def test_a_folder_that_stays_empty_is_not_left(tmp_path):
    with pytest.raises(KeyError), one_writer(tmp_path / "runs" / "run"):
        raise KeyError
    assert not list(tmp_path.iterdir())
    with one_writer(tmp_path / "runs" / "run"):
        write_text(tmp_path / "runs" / "run" / "a", "b")
    assert [each.name for each in (tmp_path / "runs" / "run").iterdir()] == ["a"]
