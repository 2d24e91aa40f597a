"""The folder in which an artefact is written before it has its name.

It is locked while its writer lives, and removed by the next export where the writer was killed.
"""

import contextlib
import errno
import fcntl
import os
import shutil
from pathlib import Path
from tempfile import gettempdir

from serving.errors import ServingError

SUFFIXES = (".partial", ".checked")
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO)  # what a disk answers that cannot take more


def remove_leftovers(home):
    """Remove the partial folders in `home` of exports that were killed; those of running ones are locked and stay."""
    for path in Path(home).glob(".*"):
        if path.suffix in SUFFIXES and path.is_dir():
            with contextlib.suppress(OSError), locked(path):  # BlockingIOError: its writer lives
                shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def locked(path):
    """Hold a lock on a folder, through any renaming of it; the end of the process, however it comes, frees it.

    Raises:
        BlockingIOError: another process holds it.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def explained(path):
    """Say in a sentence that there is no room to write `path`, whichever library noticed.

    Raises:
        ServingError: for the errors of `FULL`, as `OSError` or in the words of TensorFlow, HDF5, SentencePiece or the
            process that checks parity, whose errors share no base but Exception.
    """
    try:
        yield
    except Exception as error:
        reason = _reason(error)
        if reason is None:
            raise
        folder = next(parent for parent in Path(path).absolute().parents if parent.exists())
        there, aside = (shutil.disk_usage(each).free / 1e6 for each in (folder, gettempdir()))
        raise ServingError(
            f"Cannot write {path}: {reason}. {there:,.0f} MB are free in {folder}, and {aside:,.0f} MB in "
            f"{gettempdir()}, where the parity check keeps its files. Nothing was left there. Free some space, or "
            "raise a limit such as `ulimit -f`, or choose other places with --out and TMPDIR, and export again."
        ) from error


def _reason(error):
    """What the operating system said, or None where this is another error."""
    while error is not None:
        for code in FULL:
            if getattr(error, "errno", None) == code or os.strerror(code) in str(error):
                return os.strerror(code)
        error = error.__cause__ or error.__context__
    return None
