"""A feed-forward network that processes parts of the sequence one after the other, to need less memory."""

from functools import partial
from typing import Any

from keras import layers, ops

from zoo.core import protocols
from zoo.core.masks import ImplicitMasks
from zoo.core.registry import build_parts, register
from zoo.feedforward.dense import FeedForward
from zoo.gradients.recompute import Piece, checkpoint


@register
class ChunkedFeedForward(ImplicitMasks, layers.Layer):
    """`y = [f(x^(1)); ...; f(x^(c))]`, `x^(i)` the i-th of `c` chunks of the time axis: the same numbers as `f(x)`.

    The widest activation is `1 / chunks` as long, in training as well: there each chunk keeps its input and computes
    the rest again for its gradient. The time axis is padded to a multiple of `chunks`, so any length is possible.

    Shapes: `(batch, time, units)` -> what `feedforward` makes of it. The mask `(batch, time)` goes to a `feedforward`
    that uses one.

    Args:
        feedforward: a position-wise layer, for example `FeedForward`.
        chunks: number of parts.

    Raises:
        ValueError: `chunks` is not a positive integer; in training, `feedforward` changes its variables.

    Example:
        >>> import numpy as np
        >>> from zoo.feedforward import ChunkedFeedForward
        >>> from zoo.feedforward import FeedForward
        >>> layer = ChunkedFeedForward(FeedForward(4, 16), chunks=2)
        >>> tuple(layer(np.ones((2, 5, 4), "float32")).shape)
        (2, 5, 4)

    Reference: https://arxiv.org/abs/2001.04451, section 3 ("chunking").
    """

    def __init__(self, feedforward: Any, chunks: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if not isinstance(chunks, int) or chunks < 1:
            raise ValueError(f"ChunkedFeedForward needs a positive number of chunks. Received: {chunks!r}.")
        self.feedforward, self.chunks = feedforward, chunks

    def build(self, x_shape):
        build_parts([self.feedforward], x_shape)

    @property
    def units(self):
        return self.feedforward.units

    @property
    def traits(self):
        """Those of `feedforward`: padding matters where it matters to that."""
        return protocols.FeedForward.of(self.feedforward)

    def call(self, x, mask=None, training=None):
        batch, time = ops.shape(x)[0], ops.shape(x)[1]
        length = (time + self.chunks - 1) // self.chunks
        extra = length * self.chunks - time
        parts = ops.reshape(ops.pad(x, ((0, 0), (0, extra), (0, 0))), (batch, self.chunks, length, x.shape[-1]))
        settings = [{"training": training}] * self.chunks
        if self.traits.uses_mask and mask is not None:
            masks = ops.reshape(ops.pad(mask, ((0, 0), (0, extra))), (batch, self.chunks, length))
            settings = [{"training": training, "mask": masks[:, index]} for index in range(self.chunks)]
        done = [self._run(parts[:, index], each) for index, each in enumerate(settings)]
        return ops.concatenate(done, axis=1)[:, :time]

    def _run(self, x, settings):
        """`feedforward` of one chunk, computed again for its gradient where there are several."""
        run = partial(self.feedforward, **settings)
        if settings["training"] and self.chunks > 1:
            piece = Piece(run, [self.feedforward])
            output, loss = checkpoint(piece, x)
            if piece.adds_losses:
                self.add_loss(loss)
            return output
        return run(x)

    def compute_output_shape(self, x_shape):
        return self.feedforward.compute_output_shape(x_shape)


def make_chunked_feedforward(
    units: int, hidden_units: int, activation: Any = "relu", chunks: int = 2
) -> ChunkedFeedForward:
    """A `ChunkedFeedForward` of a `FeedForward`.

    Args:
        units, hidden_units, activation: as of `FeedForward`.
        chunks: parts of the time.
    """
    return ChunkedFeedForward(FeedForward(units, hidden_units, activation), chunks)
