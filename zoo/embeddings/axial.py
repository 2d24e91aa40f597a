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

    Half of the channels encode the row of the grid and the others its column, so `(n_1 + n_2) units / 2` weights
    suffice for `n_1 n_2` positions.

    Shapes: `(batch, time, units)` -> the same. `at(positions)`: `(...)` -> `(..., units)`; positions beyond the grid
    have the vector of its last position.

    Args:
        shape: `(n_1, n_2)`, for at most `n_1 * n_2` positions.

    Raises:
        ValueError: `shape` is not two positive integers, `units` are odd, or (where the length is static) a sequence
            is longer.

    Example:
        >>> import numpy as np
        >>> from zoo.embeddings import AxialPositions
        >>> tuple(AxialPositions((4, 8))(np.ones((2, 32, 6), "float32")).shape)
        (2, 32, 6)

    References: https://arxiv.org/abs/1912.12180; https://arxiv.org/abs/2001.04451, section 4.
    """

    def __init__(self, shape: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        pair = isinstance(shape, (list, tuple)) and len(shape) == 2
        if not pair or not all(isinstance(size, int) and size > 0 for size in shape):
            raise ValueError(
                "AxialPositions needs two positive integers, rows and columns of the grid of positions. Received: "
                f"shape={shape!r}."
            )
        self.shape = shape
        self.max_positions = shape[0] * shape[1]

    @property
    def traits(self):
        return protocols.Positions(by_place=True, longest=self.max_positions)

    def build(self, x_shape):
        units = x_shape[-1]
        if units % 2:
            raise ValueError(
                "AxialPositions gives half of the units to rows and half to columns, so they must be even. Received: "
                f"{units}."
            )
        names = zip(("rows", "columns"), self.shape, strict=True)
        self.rows, self.columns = (
            self.add_weight(name=name, shape=(size, units // 2), initializer=RandomNormal(stddev=STDDEV))
            for name, size in names
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

    def get_config(self):
        return {**super().get_config(), "shape": self.shape}
