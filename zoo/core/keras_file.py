"""Writes a model as a `.keras` file, without a second copy of its weights in memory."""

import tempfile
import zipfile
from pathlib import Path

from zoo.core.storage import write_atomically


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
