"""Files that are written whole or not at all, and values as JSON; imports no framework."""

import fcntl
import json
import math
import os
from pathlib import Path

from zoo.core.escaping import shown


def write_atomically(path, write):
    """Call `write(file)` for a temporary file beside `path`, flush it to the disk and rename it to `path`.

    Two writers of one file take turns. The temporary file is removed if writing fails; what a killed process leaves is
    written over by the next one.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.partial")
    with _locked(beside) as file:
        try:
            file.truncate()
            write(file)
            file.flush()
            os.fsync(file.fileno())
            os.replace(beside, path)
        except BaseException as error:
            beside.unlink(missing_ok=True)
            if isinstance(error, OSError) and error.strerror:  # which often does not say of which file it is
                raise OSError(error.errno, error.strerror, str(path)) from error
            raise
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)  # so that the rename is on the disk, too
    finally:
        os.close(directory)


def _locked(beside):
    """The file `beside`, opened and locked until it is closed: another writer waits, and then opens one of its own."""
    while True:
        file = open(os.open(beside, os.O_RDWR | os.O_CREAT, 0o666), "wb")
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            if os.path.samestat(os.fstat(file.fileno()), os.stat(beside)):
                return file
        except FileNotFoundError:
            pass
        file.close()  # the other writer has renamed or removed it meanwhile


def write_text(path, text):
    """Write a text in UTF-8; a crash leaves the old file or the new one."""
    write_atomically(path, lambda file: file.write(text.encode()))


def write_json(path, value):
    """Write a value as `json_text` does, over several lines."""
    write_text(path, json_text(value, indent=2) + "\n")


def json_text(value, indent=None):
    """A value as JSON, in which a number that JSON cannot express, such as an infinite perplexity, is null.

    What ends a line or steers a terminal is written as an escape, so that without `indent` it is one line to everybody.
    """
    text = json.dumps(finite(value), indent=indent, ensure_ascii=False, allow_nan=False)
    return shown(text, keep="\n" if indent is not None else "")


def finite(value):
    """A value with None for every NaN and infinity in it."""
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
