"""Positions that are added to the embeddings, because attention by itself does not know the order of its inputs."""

import math
from typing import Any

import numpy as np
from keras import layers, ops
from keras.initializers import RandomNormal

from zoo.core import protocols
from zoo.core.masks import ImplicitMasks
from zoo.core.registry import register

STDDEV = 0.5**0.5  # learned positions start like sinusoids: much smaller ones vanish beside the embeddings
LONGEST = 10_000.0  # the longest wave has 2 pi times as many positions


class Positions(ImplicitMasks, layers.Layer):
    """What they share: `call(x)` adds the rows of positions 0, 1, ... or of `places`; `at(positions)` gives rows."""

    traits = protocols.Positions(by_place=True)
    max_positions: int | None = None  # how many there are, where that is bounded

    def __init__(self, **kwargs):
        super().__init__(**kwargs)

    def call(self, x, mask=None, places=None):
        self.check_length(x, places)
        places = ops.arange(ops.shape(x)[1], dtype="int32") if places is None else places
        return x + self.at(places, x.shape[-1])

    def check_length(self, x, places=None):
        """Where the length is known: not more than there are positions."""
        time = None if places is not None else x.shape[1]  # None, or a symbol of JAX, where it is dynamic
        if self.max_positions is not None and isinstance(time, int) and time > self.max_positions:
            raise ValueError(
                f"A sequence of {time} positions is too long: expected at most max_positions="
                f"{self.max_positions}. Cut it, or build the model with more positions."
            )


@register
class SinusoidalPositions(Positions):
    """`x + P`, `P[t, 2i] = sin(t / 10000^(2i/d))`, `P[t, 2i+1] = cos(t / 10000^(2i/d))`.

    Nothing is learned and no table is stored, so any length is possible. Sines and cosines alternate as in the paper
    (other codes put all the sines first).

    Shapes: `(batch, time, units)` -> the same. `at(positions, units)`: `(...)` -> `(..., units)`.

    Example:
        >>> import numpy as np
        >>> from zoo.embeddings import SinusoidalPositions
        >>> SinusoidalPositions()(np.zeros((1, 2, 4), "float32"))[0, 0].numpy().tolist()
        [0.0, 1.0, 0.0, 1.0]

    Reference: https://arxiv.org/abs/1706.03762, section 3.5.
    """

    def at(self, positions, units):
        channels = np.arange(units)
        rate = LONGEST ** -((channels - channels % 2) / units)
        phase = (channels % 2) * math.pi / 2  # cos(a) = sin(a + pi/2): one sine for all channels
        angle = ops.expand_dims(ops.cast(positions, "float32"), -1) * rate.astype("float32") + phase.astype("float32")
        return ops.cast(ops.sin(angle), self.compute_dtype)


@register
class NoPositions(Positions):
    """`x` unchanged, for a stack that adds positions itself, such as `zoo.depth.UniversalStack`.

    Example:
        >>> import numpy as np
        >>> from zoo.embeddings import NoPositions
        >>> NoPositions()(np.ones((1, 1, 3), "float32"))[0, 0].numpy().tolist()
        [1.0, 1.0, 1.0]
    """

    def at(self, positions, units):
        return ops.zeros((*ops.shape(positions), units), dtype=self.compute_dtype)


def positions_before(stack, dtype=None):
    """The default positions before a stack: sinusoids, or none where the stack adds its own."""
    return (NoPositions if protocols.Depth.of(stack).places_itself else SinusoidalPositions)(dtype=dtype)


@register
class LearnedPositions(Positions):
    """`x + P`, where `P` is a trained matrix for at most `max_positions` positions.

    Shapes: `(batch, time, units)` -> the same. `at(positions)`: `(...)` -> `(..., units)`; positions beyond the matrix
    take its last row. Entries start with the variance of sinusoids, 1/2, beside embeddings of variance 1.

    Args:
        max_positions: positions, the rows of the matrix.

    Raises:
        ValueError: `max_positions` is not a positive integer, or (where the length is static) a sequence is longer.

    Reference: https://arxiv.org/abs/1705.03122, section 3.1.
    """

    def __init__(self, max_positions: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if not isinstance(max_positions, int) or max_positions < 1:
            raise ValueError(f"LearnedPositions needs a positive number of positions. Received: {max_positions!r}.")
        self.max_positions = max_positions

    @property
    def traits(self):
        return protocols.Positions(by_place=True, longest=self.max_positions)

    def build(self, x_shape):
        shape = self.max_positions, x_shape[-1]
        self.matrix = self.add_weight(name="matrix", shape=shape, initializer=RandomNormal(stddev=STDDEV))

    def at(self, positions, units=None):
        return ops.take(
            ops.cast(self.matrix, self.compute_dtype), ops.minimum(positions, self.max_positions - 1), axis=0
        )


@register
class AxialPositions(Positions):
    """`x_t + [A_(t div n_2); B_(t mod n_2)]`: position `t` in a grid of `n_1` rows and `n_2` columns.

    Half of the channels, or `row_units` of them, encode the row of the grid and the others its column, so
    `(n_1 + n_2) units / 2` weights suffice for `n_1 n_2` positions.

    Shapes: `(batch, time, units)` -> the same. `at(positions)`: `(...)` -> `(..., units)`; positions beyond the grid
    have the vector of its last position.

    Args:
        shape: `(n_1, n_2)`, for at most `n_1 * n_2` positions.
        row_units: channels that encode the row; without it half of them.

    Raises:
        ValueError: `shape` is not two positive integers, `units` are odd and `row_units` not given, either part has no
            channel, or (where the length is static) a sequence is longer.

    Example:
        >>> import numpy as np
        >>> from zoo.embeddings import AxialPositions
        >>> tuple(AxialPositions((4, 8))(np.ones((2, 32, 6), "float32")).shape)
        (2, 32, 6)

    References: https://arxiv.org/abs/1912.12180; https://arxiv.org/abs/2001.04451, section 4.
    """

    def __init__(self, shape: Any, row_units: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        pair = isinstance(shape, (list, tuple)) and len(shape) == 2
        if not pair or not all(isinstance(size, int) and size > 0 for size in shape):
            raise ValueError(
                "AxialPositions needs two positive integers, rows and columns of the grid of positions. Received: "
                f"shape={shape!r}."
            )
        if row_units is not None and (not isinstance(row_units, int) or row_units < 1):
            raise ValueError(f"AxialPositions needs positive row_units, or None. Received: row_units={row_units!r}.")
        self.shape, self.row_units = shape, row_units
        self.max_positions = shape[0] * shape[1]

    @property
    def traits(self):
        return protocols.Positions(by_place=True, longest=self.max_positions)

    def build(self, x_shape):
        units = x_shape[-1]
        if self.row_units is None and units % 2:
            raise ValueError(
                "AxialPositions gives half of the units to rows and half to columns, so they must be even, or "
                f"row_units given. Received: {units}."
            )
        of_rows = self.row_units or units // 2
        if of_rows >= units:
            raise ValueError(
                f"AxialPositions leaves no channel for the columns. Expected row_units below {units}, the units. "
                f"Received: row_units={of_rows}."
            )
        parts = zip(("rows", "columns"), self.shape, (of_rows, units - of_rows), strict=True)
        self.rows, self.columns = (
            self.add_weight(name=name, shape=(size, width), initializer=RandomNormal(stddev=STDDEV))
            for name, size, width in parts
        )

    def at(self, positions, units=None):
        positions = ops.minimum(positions, self.max_positions - 1)
        rows, columns = (ops.cast(matrix, self.compute_dtype) for matrix in (self.rows, self.columns))
        row = positions // self.shape[1]
        halves = ops.take(rows, row, axis=0), ops.take(columns, positions - row * self.shape[1], axis=0)
        return ops.concatenate(halves, axis=len(row.shape))  # -1 needs a rank, which an ONNX graph may not know
