"""The four things that are done to a disk. All writing of this folder goes through them, so that tests can stop it."""

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
