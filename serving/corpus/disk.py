"""Appending, synchronising, renaming and removing: all of it in this folder goes through here, so that tests can stop
it at every step. Other changes of the disk never make a block count: a folder is made, bytes behind the last block that
counts are cut off, and a Parquet file is written before it has its name."""

import os
import shutil
from pathlib import Path


def append(file, content):
    """Write bytes at the end of an open file, as far as the operating system."""
    file.write(content)
    file.flush()


def sync(file):
    """Wait until what was written to an open file is on the disk."""
    os.fsync(file.fileno())


def rename(old, new):
    """Give a file its final name in one step, and wait until the folder knows it."""
    os.replace(old, new)
    folder = os.open(Path(new).absolute().parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def remove(folder):
    """Remove a folder with its files; what cannot be removed stays."""
    shutil.rmtree(folder, ignore_errors=True)
