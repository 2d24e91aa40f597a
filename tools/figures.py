"""Files of figures: which there can be, and how they are written."""

import io
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path

from zoo.core.storage import write_bytes

SUFFIXES = (".pdf", ".png", ".svg")


def check(path):
    """Check, before anything is computed, that `save` can write a figure.

    Raises:
        ValueError: the suffix is unknown, the path is a directory, or matplotlib is not installed.
    """
    path = Path(path)
    if path.suffix.lower() not in SUFFIXES:
        raise ValueError(f"Expected a figure's name to end in one of {', '.join(SUFFIXES)}; received {path}.")
    if path.is_dir():
        raise ValueError(f"Expected the name of a figure to write; received {path}, which is a directory.")
    if find_spec("matplotlib") is None:
        raise ValueError(
            "Drawing a figure needs matplotlib, which is not installed here. "
            "Install it with: pip install 'seqzoo[plot]'"
        )


def save(figure, path):
    """Write a figure of matplotlib; a failure leaves the old file, or none.

    A character that no installed font has is drawn as an empty box; a note on standard error says so.

    Raises:
        ValueError: as of `check`.
        OSError: the file cannot be written; the error names it.
    """
    path, buffer = Path(path), io.BytesIO()
    check(path)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        figure.savefig(buffer, format=path.suffix[1:].lower())
    if any("missing from font" in str(warning.message) for warning in caught):
        print(
            "note: no font on this machine has some of the characters, which are drawn as boxes; "
            "install a font such as Noto Sans CJK",
            file=sys.stderr,
        )
    write_bytes(path, buffer.getvalue())
