"""What both protocols share: which model is meant, what it takes and gives, and tensors as nested lists."""

import math
import struct
from dataclasses import dataclass
from urllib.parse import quote

from serving.client.errors import AnswerError, ClientError

MOST_AXES = 8
MOST_FILLED = 1 << 24  # values of a tensor whose message holds one for all


@dataclass(frozen=True)
class Model:
    """Which model is meant.

    Args:
        name: its name on the server.
        version: a number, or a label such as "stable", as a string; None leaves the choice to the server.
    """

    name: str
    version: str | None = None

    @property
    def path(self):
        """Its place below `/v2/models/`."""
        version = f"/versions/{quote(self.version, safe='')}" if self.version else ""
        return quote(self.name, safe="") + version


@dataclass(frozen=True)
class Description:
    """The names of the inputs and outputs of a model, its versions, and its labels where the server says them."""

    inputs: tuple
    outputs: tuple
    versions: tuple = ()
    labels: tuple = ()


def nest(values, shape, rows):
    """Flat values as lists of lists of a shape, whose first axis is that of `rows` texts.

    >>> from serving.client.tensors import nest
    >>> nest([1, 2, 3, 4], [2, 2], 2), nest([], [2, 0], 2)
    ([[1, 2], [3, 4]], [[], []])

    Raises:
        ValueError: there are more or fewer values or rows than that.
    """
    values = list(values)
    if not _is_shape(shape, rows) or math.prod(shape) != len(values) or math.prod(shape[:-1]) > len(values) + rows:
        raise ValueError(f"{len(values)} values in a tensor of shape {list(shape)[: MOST_AXES + 1]} for {rows} texts")
    for place in range(len(shape) - 1, 0, -1):
        axis = shape[place]
        values = [values[row * axis : (row + 1) * axis] for row in range(math.prod(shape[:place]))]
    return values


def _is_shape(shape, rows):
    return 0 < len(shape) <= MOST_AXES and shape[0] == rows and all(type(axis) is int and axis >= 0 for axis in shape)


def fill(value, shape, rows):
    """The flat values of a tensor whose message holds one value for all of them.

    Raises:
        ValueError: the shape is not one of so many rows, or too large.
    """
    if not _is_shape(shape, rows) or math.prod(shape) > MOST_FILLED:
        raise ValueError(f"1 values in a tensor of shape {list(shape)[: MOST_AXES + 1]} for {rows} texts")
    return [value] * math.prod(shape)


def read_numbers(content, code):
    """The little-endian numbers of a code of `struct`."""
    return [value for (value,) in struct.iter_unpack(f"<{code}", content)]


class fitting:
    """A context in which an answer that is not as the protocol says is an `AnswerError`."""

    def __init__(self, where):
        self._where = where

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if isinstance(error, ClientError):
            return
        if isinstance(error, KeyError | TypeError | ValueError | AttributeError | IndexError | struct.error):
            reason = f"{type(error).__name__}: {error}"
            raise AnswerError(f"{self._where} answered what does not follow its protocol ({reason}).") from error
