"""The Reformer: LSH attention and chunked feed-forward layers in a reversible stack."""

from typing import Any

from zoo.attention import LSHAttention, MultiHeadAttention
from zoo.blocks import PreNorm
from zoo.depth.reversible import ReversibleStack
from zoo.depth.settings import BlockSettings
from zoo.feedforward import ChunkedFeedForward, FeedForward


def make_reformer_stack(
    num_layers: int,
    units: int,
    num_heads: int,
    hidden_units: int,
    hashing: Any = None,
    *,
    chunks: int = 1,
    activations: str = "reversible",
    **settings: Any,
) -> Any:
    """A `ReversibleStack` of `PreNorm` blocks: LSH attention, attention over a memory if `cross`, feed-forward.

    `LanguageModel(n, make_reformer_stack(...), AxialPositions((512, 128)))` is the paper's language model,
    `Transformer(m, n, make_reformer_stack(...), make_reformer_stack(..., cross=True))` its encoder-decoder. For other
    mixtures (a Macaron, hashing in every third block) give `ReversibleStack` your own blocks.

    Args:
        num_layers: number of blocks.
        units: width of the two streams.
        num_heads: heads of each attention.
        hidden_units: inner width of the feed-forward layers.
        hashing: settings of each `LSHAttention`: num_buckets, chunk_length, rounds, resample; {} are its defaults, None
            is `MultiHeadAttention` instead.
        chunks: parts of the sequence that the feed-forward layers take one after the other.
        activations: what a training step keeps, "plain", "checkpoint" or "reversible": see `ReversibleStack`.
        **settings: dropout, cross, activation, seed, norm, epsilon: see `zoo.depth.settings.BlockSettings`.

    Example:
        >>> import numpy as np
        >>> from zoo.depth import make_reformer_stack
        >>> stack = make_reformer_stack(2, units=8, num_heads=2, hidden_units=16, hashing={"chunk_length": 4})
        >>> tuple(stack(np.ones((2, 11, 8), "float32"), causal=True).shape)
        (2, 11, 8)

    Reference: https://arxiv.org/abs/2001.04451.
    """

    settings = BlockSettings.read(settings)

    def make_block(index):
        if hashing is None:
            attention = MultiHeadAttention(units, num_heads)
        else:
            attention = LSHAttention(units, num_heads, seed=settings.block_seed(index), **hashing)
        feedforward = FeedForward(units, hidden_units, settings.activation)
        return PreNorm(
            attention,
            feedforward if chunks == 1 else ChunkedFeedForward(feedforward, chunks),
            **settings.around(index, units, num_heads),
        )

    return ReversibleStack([make_block(index) for index in range(num_layers)], activations)
