"""Plain: corpora, synthetic tasks, and batches of static shapes; everything is NumPy."""

from zoo.data.batching import (
    Batches,
    Completions,
    LabelledBatches,
    PairBatches,
    PartnerBatches,
    TaggedBatches,
    first_pieces,
    pad,
)
from zoo.data.corpora import babi, find_parallel, read_lines, running_text, sst, tagged, trec
from zoo.data.epochs import Windows
from zoo.data.synthetic import date_pairs, dates, duplication, reversal

__all__ = [
    "Batches",
    "Completions",
    "LabelledBatches",
    "PairBatches",
    "PartnerBatches",
    "TaggedBatches",
    "Windows",
    "babi",
    "date_pairs",
    "dates",
    "duplication",
    "find_parallel",
    "first_pieces",
    "pad",
    "read_lines",
    "reversal",
    "running_text",
    "sst",
    "tagged",
    "trec",
]
