"""Positions that are concatenated to the embeddings instead of added, as a Star-Transformer has them."""

from typing import Any

from keras import layers, ops

from zoo.core import protocols
from zoo.core.masks import ImplicitMasks
from zoo.core.registry import register
from zoo.embeddings.positions import LearnedPositions


@register
class ConcatenatedPositions(ImplicitMasks, layers.Layer):
    """`e_t = W [x_t; P_t] + b`, `P` a trained matrix of `units` columns, `W` back to the width of `x`.

    Shapes: `(batch, time, width)` -> the same. Positions beyond the matrix share its last row.

    Args:
        max_positions: positions, the rows of `P`.
        units: columns of `P`.

    Raises:
        ValueError: `max_positions` or `units` is not a positive integer, or (where the length is static) a sequence is
            longer than `max_positions`.

    Example:
        >>> import numpy as np
        >>> from zoo.embeddings import ConcatenatedPositions
        >>> tuple(ConcatenatedPositions(50, units=3)(np.ones((2, 5, 4), "float32")).shape)
        (2, 5, 4)

    Reference: https://arxiv.org/abs/1902.09113, section 3.2; it does not say how the wider vector enters a star of
    `width` units, so here a dense layer takes it there.
    """

    def __init__(self, max_positions: int, units: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if not isinstance(units, int) or units < 1:
            raise ValueError(f"ConcatenatedPositions needs a positive number of units. Received: units={units!r}.")
        self.units = units
        self.positions = LearnedPositions(max_positions, name="positions", dtype=self.dtype_policy)

    @property
    def max_positions(self):
        return self.positions.max_positions

    @property
    def traits(self):
        return protocols.Positions(longest=self.max_positions)

    def build(self, x_shape):
        self.positions.build((*x_shape[:-1], self.units))
        self.projection = layers.Dense(x_shape[-1], name="projection", dtype=self.dtype_policy)
        self.projection.build((*x_shape[:-1], x_shape[-1] + self.units))

    def call(self, x, mask=None):
        self.positions.check_length(x)
        places = self.positions.at(ops.arange(ops.shape(x)[1], dtype="int32"))
        beside = ops.broadcast_to(places[None], (*ops.shape(x)[:2], self.units))
        return self.projection(ops.concatenate([x, beside], axis=-1))

    def compute_output_shape(self, x_shape):
        return tuple(x_shape)
