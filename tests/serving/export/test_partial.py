"""An export that finds no room says so and leaves nothing; what a killed one left goes with the next."""

import errno
import os
import resource
import signal
import subprocess
import sys
from contextlib import contextmanager

import pytest

from serving.export.partial import explain_full_disk, lock, remove_leftovers, reserve
from serving.runtime.errors import ParityError, ServingError
from tests.house_rules import ROOT
from tests.serving.conftest import settings_of, sides


@contextmanager
def largest_file(size):
    """No file of this process becomes larger: what a full disk does to whoever writes."""
    before, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.slow(but=1)
@pytest.mark.parametrize(  # model.keras is of 82 kB, the tokenizer of 354 kB, the SavedModel of 1,242 kB
    ("size", "writer"), [(2_000, "OSError"), (600_000, "OutOfRangeError")], ids=("Keras", "TensorFlow")
)
def test_a_full_disk_is_a_sentence(models, tokenizers, tmp_path, size, writer):
    from serving.export import export

    left = tmp_path / "tag" / ".1.77.partial" / "variables"
    left.mkdir(parents=True)
    with largest_file(size), pytest.raises(ServingError) as stop:
        export(models["tag"], sides("tag", tokenizers), tmp_path, settings_of("tag"))
    assert type(stop.value.__cause__).__name__ == writer
    message = str(stop.value)
    assert message.startswith(f"Cannot write {tmp_path / 'tag' / '1'}: File too large")
    assert "Free some space" in message and "--out" in message
    assert not list((tmp_path / "tag").iterdir())


def test_every_librarys_words_are_understood(tmp_path):
    errors = (
        OSError(errno.ENOSPC, "No space left on device"),
        RuntimeError("Unable to write: error message = 'No space left on device'"),
        OSError(errno.EROFS, "Read-only file system"),
        ParityError("The parity check did not finish: OSError: [Errno 28] No space left on device"),
    )
    message = f"Cannot write {tmp_path}/a/1: (No space|Read-only).* MB are free in .* and TMPDIR"
    for error in errors:
        with pytest.raises(ServingError, match=message), explain_full_disk(tmp_path / "a" / "1"):
            raise error
    said = "No space left on device. .* MB are free in [^,]*. Free some space, and give the same command again"
    with pytest.raises(ServingError, match=said), explain_full_disk(tmp_path / "deployment.json", exported=False):
        raise errors[0]
    for error in (RuntimeError("a bug"), ValueError("wrong use"), ParityError("differs"), PermissionError(13, "no")):
        with pytest.raises(type(error)) as stop, explain_full_disk(tmp_path):
            raise error
        assert stop.value is error


def test_leftovers_are_removed_and_what_is_being_written_stays(tmp_path):
    for name in (".1.77.partial", ".2.78.checked", ".3.79.partial", "4", ".cache"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").touch()
    with lock(tmp_path / ".3.79.partial"):
        remove_leftovers(tmp_path)
        assert sorted(os.listdir(tmp_path)) == [".3.79.partial", ".cache", "4"]
    remove_leftovers(tmp_path)
    assert sorted(os.listdir(tmp_path)) == [".cache", "4"]


def test_no_two_exports_write_one_version(tmp_path):
    home = tmp_path / "a"
    with reserve(home) as (first, folder), reserve(home) as (second, _):
        assert (first, second) == (1, 2) and folder.parent == home and folder.is_dir()
        with pytest.raises(ValueError, match="a/2 is being written by another export"), reserve(home, 2):
            pass
        folder.rename(home / "1")
    with reserve(home) as (third, _):
        assert third == 2, "what nobody writes any longer was removed"
    with pytest.raises(ValueError, match="a/1 exists. Choose another --version"), reserve(home, 1):
        pass


def test_other_exports_wait_while_a_folder_is_made_and_locked(tmp_path, monkeypatch):
    asked = []

    def remove(home):
        asked.append(home)
        with pytest.raises(BlockingIOError), lock(home):
            pass

    monkeypatch.setattr("serving.export.partial.remove_leftovers", remove)
    with reserve(tmp_path) as (_, folder), lock(tmp_path):  # the folder of all versions is free again
        with pytest.raises(BlockingIOError), lock(folder):
            pass
    assert asked == [tmp_path]


def test_the_lock_goes_with_a_killed_process_and_through_a_renaming(tmp_path):
    (tmp_path / ".1.1.partial").mkdir()
    code = (
        "import os, sys, time; from serving.export.partial import lock\n"
        "with lock(sys.argv[1]): os.rename(sys.argv[1], sys.argv[2]); print('locked', flush=True); time.sleep(600)"
    )
    names = [str(tmp_path / ".1.1.partial"), str(tmp_path / ".1.1.checked")]
    with subprocess.Popen([sys.executable, "-c", code, *names], cwd=ROOT, stdout=subprocess.PIPE) as writer:
        assert writer.stdout.readline() == b"locked\n"
        remove_leftovers(tmp_path)
        assert os.listdir(tmp_path) == [".1.1.checked"]
        writer.kill()
    remove_leftovers(tmp_path)
    assert not os.listdir(tmp_path)
