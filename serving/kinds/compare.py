"""One label for a pair of texts."""

from serving.kinds.base import PAIR
from serving.kinds.classify import Classify


class Compare(Classify):
    """A label for each pair of texts, "first TAB second" or `(first, second)`. A pair of blank texts has none."""

    name = "compare"
    forms = (PAIR,)


KIND = Compare()
