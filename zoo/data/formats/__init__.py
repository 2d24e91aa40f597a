"""Your own data: readers of the formats in which people have it, and how it is split, filtered and described.

Python's own library and NumPy read all but Hugging Face's datasets; `docs/data.md` shows each format.
"""

from zoo.data.formats.card import card
from zoo.data.formats.examples import Examples
from zoo.data.formats.filters import duplicates, filter_by_length, without
from zoo.data.formats.reading import Detected, detect, read
from zoo.data.formats.splits import split_by_hash

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
