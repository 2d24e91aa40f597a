"""The folder in which an artefact is written before it gets its final name.

The exporting process holds a lock on this folder. If the process is killed, the next export removes the folder.
"""

import contextlib
import errno
import fcntl
import os
import shutil
from pathlib import Path
from tempfile import gettempdir

from serving.runtime.errors import ServingError

SUFFIXES = (".partial", ".checked")
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO)  # the errors of a disk that takes no more data


@contextlib.contextmanager
def reserve(home, version=None):
    """`(version, folder)`: a version that no other export has or is writing, and a new, locked folder for its files.

    Args:
        home: the folder of all versions; it is made where it does not exist.
        version: a positive integer; None is one more than the highest, counting those that are being written.

    Raises:
        ValueError: the version exists, or another export is writing it.
    """
    home.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        with lock(home, wait=True):  # for a moment: other exports must not see the new folder before it is locked
            remove_leftovers(home)
            unfinished = unfinished_versions(home)
            version = version or max(newest(home), *unfinished, 0) + 1
            final = home / str(version)
            if final.exists() or version in unfinished:
                state = "is being written by another export" if version in unfinished else "exists"
                raise ValueError(f"{final} {state}. Choose another --version, or leave it out for the next one.")
            folder = home / f".{version}.{os.getpid()}{SUFFIXES[0]}"
            folder.mkdir()
            stack.enter_context(lock(folder))
        yield version, folder


def newest(home: Path) -> int:
    """The highest version below `home`, 0 if there is none."""
    versions = [int(path.name) for path in home.glob("*") if path.name.isdecimal() and path.name.isascii()]
    return max(versions, default=0)


def unfinished_versions(home):
    """The versions for which there is a partial folder in `home`."""
    names = [path.name.split(".")[1] for path in home.glob(".*") if path.suffix in SUFFIXES]
    return {int(name) for name in names if name.isdecimal() and name.isascii()}


def remove_leftovers(home):
    """Remove the partial folders of killed exports from `home`. Those of running exports are locked and stay."""
    for path in Path(home).glob(".*"):
        if path.suffix in SUFFIXES and path.is_dir():
            with contextlib.suppress(OSError), lock(path):  # BlockingIOError: its export is running
                shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def lock(path, wait=False):
    """Hold a lock on a folder. Renaming the folder keeps the lock, and the end of the process always releases it.

    Args:
        path: the folder.
        wait: wait while another process holds the lock.

    Raises:
        BlockingIOError: another process holds the lock, and `wait` is false.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def explain_full_disk(path, exported=True):
    """Turn the error of a full disk, whichever library raises it, into a message that says so and how to solve it.

    Args:
        path: what is written.
        exported: whether it is an artefact, of which nothing is left behind, and which needs room for its parity check.

    Raises:
        ServingError: for the errors of `FULL`, as `OSError` or in the messages of TensorFlow, HDF5, SentencePiece or
            the process that checks parity. The only base class that these errors have in common is Exception.
    """
    try:
        yield
    except Exception as error:
        reason = _reason(error)
        if reason is None:
            raise
        folder = next(parent for parent in Path(path).absolute().parents if parent.exists())
        free, free_temporary = (shutil.disk_usage(each).free / 1e6 for each in (folder, gettempdir()))
        mend = (
            f", and {free_temporary:,.0f} MB in {gettempdir()}, where the parity check keeps its files. No file was "
            "left behind. Free some space, or raise a limit such as `ulimit -f`, or choose other places with --out and "
            "TMPDIR, and export again."
            if exported
            else ". Free some space, and give the same command again: it begins anew."
        )
        raise ServingError(f"Cannot write {path}: {reason}. {free:,.0f} MB are free in {folder}{mend}") from error


def _reason(error):
    """The operating system's text for the error of `FULL` in the chain of `error`, or None if there is none."""
    while error is not None:
        for code in FULL:
            if getattr(error, "errno", None) == code or os.strerror(code) in str(error):
                return os.strerror(code)
        error = error.__cause__ or error.__context__
    return None
