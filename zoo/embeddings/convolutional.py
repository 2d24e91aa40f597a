"""Positions that are encoded by their neighbours, through a convolution over the embeddings."""

from typing import Any

from keras import layers, ops

from zoo.core import protocols
from zoo.core.masks import ImplicitMasks
from zoo.core.registry import register


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
