"""What is written whole or not at all, folders with one writer, and values as JSON; imports no framework."""

import contextlib
import errno
import json
import math
import os
import tempfile
import zipfile
from pathlib import Path

from zoo.core.escaping import in_line
from zoo.core.later import later

fcntl = later("fcntl")  # which Windows does not have: models of hubs are fetched there, too

LOCK = ".lock"
UNWRITABLE = (errno.EACCES, errno.EPERM, errno.EROFS)


class BusyError(OSError):
    """Another process writes where this one wants to."""


def write_atomically(path, write):
    """Call `write(file)` for a temporary file beside `path`, flush it to the disk and rename it to `path`.

    Two writers of one file take turns. The temporary file is removed if writing fails; what a killed process leaves is
    written over by the next one.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.partial")
    with _open_locked(beside, fcntl.LOCK_EX) as file:  # another writer waits, and then opens one of its own
        try:
            file.truncate()
            write(file)
            file.flush()
            os.fsync(file.fileno())
            rename(beside, path)
        except BaseException as error:
            beside.unlink(missing_ok=True)
            if isinstance(error, OSError) and error.strerror:  # which often does not say of which file it is
                raise OSError(error.errno, error.strerror, str(path)) from error
            raise


def rename(old, new):
    """Give a file or a folder its name in one step, which is on the disk, too, when this returns."""
    os.replace(old, new)
    sync_folder(Path(new).parent)


def sync_folder(folder):
    """Wait until the names in a folder are on the disk."""
    if os.name == "posix":
        directory = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


@contextlib.contextmanager
def folder_beside(path):
    """A new folder that is at `path` when the context ends, and takes the place of a folder there; after an error, not.

    If the last step fails, a folder that was there has its name again.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    place = {"prefix": f".{path.name}.", "suffix": ".partial", "dir": path.parent}
    with tempfile.TemporaryDirectory(**place, ignore_cleanup_errors=True) as beside:
        new, old = Path(beside, "new"), Path(beside, "old")
        new.mkdir()
        yield new
        if path.exists():
            path.rename(old)
        try:
            rename(new, path)
        except OSError:
            if old.exists():
                old.rename(path)
            raise


@contextlib.contextmanager
def one_writer(folder, reading=False):
    """A context in which no other process writes in a folder; made where it is missing, and removed if it stays empty.

    The system frees the lock when a process ends, in whatever way, so a file that a killed one has left blocks nobody.

    Args:
        folder: of a run, which any number of processes may read together.
        reading: nothing is written in this context; other readers may be in it, too, and nothing is made.

    Raises:
        BusyError: another process is in it.
    """
    folder = Path(folder)
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    if reading and missing:
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        stack.callback(_remove_empty, missing)
        try:
            file = _open_locked(folder / LOCK, fcntl.LOCK_NB | (fcntl.LOCK_SH if reading else fcntl.LOCK_EX))
        except BlockingIOError:
            raise BusyError(
                f"another process is working in {folder}: it trains, evaluates or exports the run there. Wait for its "
                "end, or end it, and try again; nothing was changed."
            ) from None
        except OSError as error:
            if not reading or error.errno not in UNWRITABLE:
                raise
        else:
            stack.enter_context(file)
            stack.callback(_remove_unused, file, folder / LOCK)
        yield


def _remove_unused(file, path):
    """Remove a locked file, unless others read beside this one."""
    with contextlib.suppress(BlockingIOError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.unlink(missing_ok=True)


def _remove_empty(folders):
    with contextlib.suppress(OSError):
        for each in folders:
            each.rmdir()


def _open_locked(path, kind):
    """The file, opened and locked until it is closed; `kind` is what `flock` is asked for.

    Raises:
        BlockingIOError: another process holds it, and `kind` is not to wait.
    """
    while True:
        file = open(os.open(path, os.O_RDWR | os.O_CREAT, 0o666), "wb")
        with contextlib.ExitStack() as stack:
            stack.callback(file.close)
            fcntl.flock(file, kind)
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(file.fileno()), os.stat(path)):
                    stack.pop_all()
                    return file  # else the other process has renamed or removed it meanwhile


def write_bytes(path, content):
    """Write bytes; a crash leaves the old file or the new one."""
    write_atomically(path, lambda file: file.write(content))


def write_text(path, text):
    """Write a text in UTF-8 as `write_bytes` does."""
    write_bytes(path, text.encode())


def write_json(path, value):
    """Write a value as `json_text` does, over several lines."""
    write_text(path, json_text(value, indent=2) + "\n")


def json_text(value, indent=None):
    """A value as JSON, in which a number that JSON cannot express, such as an infinite perplexity, is null.

    What ends a line or steers a terminal is written as an escape, so that without `indent` it is one line to everybody.
    """
    text = json.dumps(finite(value), indent=indent, ensure_ascii=False, allow_nan=False)
    return in_line(text, keep="\n" if indent is not None else "")


def finite(value):
    """A value with None for every NaN and infinity in it."""
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def save_model(model, path):
    """Write a `.keras` file; a crash or a full disk leaves the old file or the new one.

    Keras would make the file's weights in memory first; here they go through a folder beside it.
    """
    with tempfile.TemporaryDirectory(prefix=".partial-", dir=path.parent) as folder:
        parts = Path(folder, "parts")
        model.save(parts, zipped=False)

        def write(file):
            with zipfile.ZipFile(file, "w") as archive:
                for each in sorted(parts.rglob("*")):
                    if each.is_file():
                        archive.write(each, each.relative_to(parts))

        write_atomically(path, write)
