"""Your own data: readers of the formats in which people have it, and how it is split, filtered and described.

Python's own library and NumPy read all but Hugging Face's datasets; `docs/data.md` shows each format.
"""

from zoo.data.formats.examples import Examples
from zoo.data.formats.preparing import card, duplicates, filter_by_length, split_by_hash, without
from zoo.data.formats.reading import Detected, detect, read

__all__ = [
    "Detected",
    "Examples",
    "card",
    "detect",
    "duplicates",
    "filter_by_length",
    "read",
    "split_by_hash",
    "without",
]
