"""What both protocols share: which model is meant, what it takes and gives, and tensors as nested lists."""

import struct
from dataclasses import dataclass
from urllib.parse import quote

from serving.client.errors import AnswerError, ClientError


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
class Described:
    """The names of the inputs and outputs of a model, its versions, and its labels where the server says them."""

    inputs: tuple
    outputs: tuple
    versions: tuple = ()
    labels: tuple = ()


def nested(values, shape):
    """Flat values as lists of lists of a shape.

    >>> from serving.client.tensors import nested
    >>> nested([1, 2, 3, 4], [2, 2]), nested([], [2, 0])
    ([[1, 2], [3, 4]], [[], []])

    Raises:
        ValueError: there are more or fewer values than that.
    """
    values, size = list(values), 1
    for axis in shape:
        size *= axis
    if len(values) != size or not shape:
        raise ValueError(f"{len(values)} values in a tensor of shape {list(shape)}")
    for place in range(len(shape) - 1, 0, -1):
        axis, rows = shape[place], 1
        for before in shape[:place]:
            rows *= before
        values = [values[row * axis : (row + 1) * axis] for row in range(rows)]
    return values


def numbers(content, code):
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
            said = f"{type(error).__name__}: {error}"
            raise AnswerError(f"{self._where} answered what does not follow its protocol ({said}).") from error
