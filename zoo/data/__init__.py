"""Corpora, synthetic tasks, and batches of static shapes; everything is NumPy."""

from zoo.data.batching import Batches, pad
from zoo.data.dates import dates
from zoo.data.parallel import find_parallel, read_lines, read_parallel
from zoo.data.toy import reversal

__all__ = [
    "Batches",
    "dates",
    "find_parallel",
    "pad",
    "read_lines",
    "read_parallel",
    "reversal",
]
