"""Positions that do more than to be added: beside the embeddings, by their neighbours, or with a norm behind them."""

from dataclasses import replace
from typing import Any

from keras import layers, ops

from zoo.core import protocols
from zoo.core.masks import ImplicitMasks
from zoo.core.norms import EPSILON, make_norm
from zoo.core.registry import build_parts, register
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


@register
class ConvolutionalPositions(ImplicitMasks, layers.Layer):
    """`x_t + relu(b + sum_k W_k x_{t + k - width // 2})`, with zeros beyond the ends.

    With sinusoids, attention needs many updates to learn to look at a neighbour. This layer gives each position its
    neighbours from the start, and with them features of word pairs and of the pieces of one word. It looks ahead, so
    it is for models that read a whole text (`Classifier`, `Tagger`).

    Shapes: `(batch, time, units)` -> the same; `mask (batch, time)` bool: positions where it is False count as zeros.
    Cost: `width` times that of a dense layer.

    Args:
        width: positions that are mixed, an odd number.

    Raises:
        ValueError: `width` is not a positive odd integer.

    Example:
        >>> import numpy as np
        >>> from zoo.embeddings import ConvolutionalPositions
        >>> tuple(ConvolutionalPositions(width=3)(np.ones((2, 5, 4), "float32")).shape)
        (2, 5, 4)

    References: https://arxiv.org/abs/1904.11660 (convolutional context instead of position embeddings);
    https://arxiv.org/abs/2102.10882, section 3 (conditional positional encodings).
    """

    traits = protocols.Positions()

    def __init__(self, width: Any = 3, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if not isinstance(width, int) or width < 1 or width % 2 == 0:
            raise ValueError(f"ConvolutionalPositions needs an odd number as width. Received: {width!r}.")
        self.width = width

    def build(self, x_shape):
        self.mix = layers.Dense(x_shape[-1], activation="relu", name="mix", dtype=self.dtype_policy)
        self.mix.build((*x_shape[:-1], self.width * x_shape[-1]))

    def call(self, x, mask=None):
        side, time = self.width // 2, ops.shape(x)[1]
        seen = x if mask is None else ops.where(mask[:, :, None], x, 0.0)
        padded = ops.pad(seen, ((0, 0), (side, side), (0, 0)))
        beside = ops.concatenate([padded[:, shift : shift + time] for shift in range(self.width)], axis=-1)
        return x + self.mix(beside)

    def compute_output_shape(self, x_shape):
        return tuple(x_shape)


@register
class NormalizedPositions(ImplicitMasks, layers.Layer):
    """`LN(p(x))`, or `LN(p(x)) W + b`, of another layer `p` of positions.

    Shapes: `(batch, time, width)` -> the same, or `(batch, time, units)`. What `p` does with masks and places stays:
    models that write may have it where they may have `p`, if `p` can be told `places`.

    Args:
        positions: another layer of `zoo.embeddings`, such as `LearnedPositions`.
        epsilon: what the norm adds to the variance; 0 leaves the norm out.
        units: width of `W`, for embeddings that are narrower than the states; None is no projection.

    Raises:
        ValueError: `units` is not a positive integer, or an `epsilon` that is negative.

    Example:
        >>> import numpy as np
        >>> from zoo.embeddings import LearnedPositions, NormalizedPositions
        >>> positions = NormalizedPositions(LearnedPositions(11), epsilon=1e-12, units=6)
        >>> tuple(positions(np.ones((2, 5, 4), "float32")).shape)
        (2, 5, 6)

    References: https://arxiv.org/abs/1810.04805; the projection: https://arxiv.org/abs/1909.11942, section 3.1.
    """

    def __init__(self, positions: Any, epsilon: float = EPSILON, units: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if units is not None and (not isinstance(units, int) or units < 1):
            raise ValueError(
                f"NormalizedPositions needs a positive number of units, or None. Received: units={units!r}."
            )
        self.positions, self.epsilon, self.units = positions, epsilon, units
        self.norm = make_norm("layer", epsilon, name="norm", dtype=self.dtype_policy) if epsilon else None
        self.projection = layers.Dense(units, name="projection", dtype=self.dtype_policy) if units else None

    @property
    def traits(self):
        own = protocols.Positions.of(self.positions)
        takes_places = "places" in self.positions.call_signature_parameters
        return replace(own, by_place=own.by_place and takes_places, units=self.units or own.units)

    def build(self, x_shape):
        build_parts([self.positions], x_shape)
        shape = (*x_shape[:-1], protocols.Positions.of(self.positions).units or x_shape[-1])
        for layer in (self.norm, self.projection):
            if layer is not None:
                layer.build(shape)

    def call(self, x, mask=None, places=None):
        x = self.positions(x, mask=mask) if places is None else self.positions(x, places=places)
        x = x if self.norm is None else self.norm(x)
        return x if self.projection is None else self.projection(x)

    def compute_output_shape(self, x_shape):
        return (*x_shape[:-1], self.traits.units or x_shape[-1])
