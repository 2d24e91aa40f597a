"""Writes files beside their place and renames them, so that whoever reads one finds it whole, old or new."""

import os
from pathlib import Path

from zoo.core.storage import write_atomically


def heading(more=""):
    """The first line of a file that is written again by every deployment."""
    return f"# Written by `seqzoo deploy`, which writes it anew; change its options instead.{more}\n"


def write(path, content):
    """Write a file, and make its folder where there is none. A file that has this content already is not touched.

    Args:
        path: the file.
        content: text or bytes. A text that begins with "#!" becomes a program.
    """
    path = Path(path)
    data = content.encode() if isinstance(content, str) else content
    if path.is_file() and not path.is_symlink() and path.read_bytes() == data:
        return

    def write_data(file):
        if data.startswith(b"#!"):  # whoever may read it by the umask may run it
            mode = os.fstat(file.fileno()).st_mode
            os.fchmod(file.fileno(), mode | (mode & 0o444) >> 2)
        file.write(data)

    write_atomically(path, write_data)


def remove_leftovers(folder):
    """Remove what a killed deployment left in a folder and below it. Call it under the lock of the folder."""
    for path in Path(folder).rglob(".*.partial"):
        if path.is_file():
            path.unlink(missing_ok=True)
