"""A norm behind embeddings and positions, as BERT has it, and a projection of narrow embeddings, as ALBERT has it."""

from dataclasses import replace
from typing import Any

from keras import layers

from zoo.core import protocols
from zoo.core.masks import ImplicitMasks
from zoo.core.norms import EPSILON, make_norm
from zoo.core.registry import register


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
        if not self.positions.built:
            self.positions.build(tuple(x_shape))
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
