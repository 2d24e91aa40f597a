"""The Reformer: LSH attention and chunked feed-forward layers in a reversible stack."""

from zoo.attention import LSHAttention, MultiHeadAttention
from zoo.blocks import PreNorm
from zoo.depth.reversible import ReversibleStack
from zoo.depth.stack import SEEDS_PER_BLOCK
from zoo.feedforward import ChunkedFeedForward, FeedForward
from zoo.seeds import shifted


def make_reformer_stack(
    num_layers,
    units,
    num_heads,
    hidden_units,
    hashing=None,
    chunks=1,
    activations="reversible",
    dropout=0.1,
    cross=False,
    activation="relu",
    seed=None,
):
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
        dropout: on each branch.
        cross: whether the blocks attend to a memory, as a decoder's do.
        activation: of the feed-forward layers.
        seed: of the dropouts and of the rotations.

    Example:
        >>> stack = make_reformer_stack(2, units=8, num_heads=2, hidden_units=16, hashing={"chunk_length": 4})
        >>> tuple(stack(np.ones((2, 11, 8), "float32"), causal=True).shape)
        (2, 11, 8)

    Reference: https://arxiv.org/abs/2001.04451.
    """

    def make_block(index):
        base = shifted(seed, SEEDS_PER_BLOCK * index)
        if hashing is None:
            attention = MultiHeadAttention(units, num_heads)
        else:
            attention = LSHAttention(units, num_heads, seed=base, **hashing)
        feedforward = FeedForward(units, hidden_units, activation)
        return PreNorm(
            attention,
            feedforward if chunks == 1 else ChunkedFeedForward(feedforward, chunks),
            cross_attention=MultiHeadAttention(units, num_heads) if cross else None,
            dropout=dropout,
            seed=base,
        )

    return ReversibleStack([make_block(index) for index in range(num_layers)], activations)
