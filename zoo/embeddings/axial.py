"""Axial positions: learned positions for long texts, from two small matrices instead of a large one."""

from typing import Any

from keras import ops
from keras.initializers import RandomNormal

from zoo.core import protocols
from zoo.core.registry import register
from zoo.embeddings.positions import STDDEV, Positions


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

    def call(self, x, mask=None, places=None):
        self.check_length(x, places)
        return super().call(x, mask, places)

    def at(self, positions, units=None):
        positions = ops.minimum(positions, self.max_positions - 1)
        rows, columns = (ops.cast(matrix, self.compute_dtype) for matrix in (self.rows, self.columns))
        row = positions // self.shape[1]
        halves = ops.take(rows, row, axis=0), ops.take(columns, positions - row * self.shape[1], axis=0)
        return ops.concatenate(halves, axis=len(row.shape))  # -1 needs a rank, which an ONNX graph may not know
