"""What a setting may be: the kinds of values that layers and recipes take, and what a message calls them."""

import dataclasses
import math
from collections.abc import Callable


@dataclasses.dataclass(frozen=True)
class Kind:
    """`accepts(value)` says whether a value is of the kind; `words` say what is expected."""

    words: str
    accepts: Callable[[object], bool]


@dataclasses.dataclass(frozen=True)
class Setting:
    """A setting of one layer: its default, its kind, and which other settings it needs to have an effect.

    `only` maps the name of another setting of the same layer to the values under which this one is read.
    """

    default: object
    kind: Kind
    only: dict = dataclasses.field(default_factory=dict)


def _whole(value):
    return type(value) is int


def _number(value):
    return type(value) in (int, float) and math.isfinite(value)


def _bucket_counts(value):
    factors = value if isinstance(value, list) else [value]
    even = bool(factors) and all(_whole(each) and each > 0 and each % 2 == 0 for each in factors)
    return even and math.prod(factors) <= 2**20


def at_least(least):
    """A whole number from `least` on."""
    return Kind(f"a whole number of at least {least}", lambda value: _whole(value) and value >= least)


def one_of(*choices):
    """One of a few words."""
    return Kind(f"one of {', '.join(choices)}", lambda value: value in choices)


POSITIVE, COUNT = at_least(1), at_least(0)
FLAG = Kind("true or false", lambda value: type(value) is bool)
NOT_NEGATIVE = Kind("a number of at least 0", lambda value: _number(value) and value >= 0)
ABOVE_ZERO = Kind("a number above 0", lambda value: _number(value) and value > 0)
BELOW_ONE = Kind("a number of at least 0 and below 1", lambda value: _number(value) and 0 <= value < 1)
BETWEEN = Kind("a number between 0 and 1", lambda value: _number(value) and 0 < value < 1)
EVEN = Kind("an even whole number of at least 2", lambda value: _whole(value) and value > 0 and value % 2 == 0)
ODD = Kind("an odd whole number", lambda value: _whole(value) and value > 0 and value % 2 == 1)
BUCKETS = Kind(f"an even whole number, or a list of them whose product is at most {2**20}", _bucket_counts)
