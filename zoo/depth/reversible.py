"""A reversible stack, in which depth costs no memory, and the Reformer, which is one with hashing and chunks.

The activations of a layer are computed again from its outputs.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from keras import ops

from zoo.attention import LSHAttention, MultiHeadAttention
from zoo.blocks import PreNorm
from zoo.core.masks import wide
from zoo.core.protocols import Block, output_units
from zoo.core.registry import register
from zoo.depth.stack import BlockSettings, Stack
from zoo.feedforward import ChunkedFeedForward, FeedForward
from zoo.gradients.means import is_counting
from zoo.gradients.recompute import Piece, after, checkpoint, each_output, recording, replaying, vjp

JOINED = ("sum", "both")
ACTIVATIONS = ("plain", "checkpoint", "reversible")


@register
class ReversibleStack(Stack):
    """Two streams, `(a, b) <- (b, a + f(LN(b)))` for each branch `f` of each block in turn; `y = LN(a_L + b_L)`.

    Both begin as `x`. A half-step can be undone, `a = a' - f(LN(b))`, so the backward pass rebuilds the activations
    from the last two streams, and a training step needs the activations of one branch whatever the depth. With
    attention and feed-forward in turn this is `Y_1 = X_1 + Attention(X_2)`, `Y_2 = X_2 + FeedForward(Y_1)`; any
    pre-norm block is possible, also a `Macaron` or one with cross-attention, whose memory receives its gradient.
    Dropout masks and the buckets of LSH attention are those of the forward pass. With `joined="both"` it ends in
    `LN([a_L; b_L])`, twice as wide, as in the authors' code.

    Streams are float32 under mixed precision, too. Gradients are those of `activations="plain"` up to rounding.

    Args:
        blocks: a list of `PreNorm`, `Macaron`, ... of the same units; not `PostNorm`, whose norm cannot be undone.
        activations: what is kept for the gradient: everything ("plain"), the stream before each branch ("checkpoint"),
            or the last two streams ("reversible"). The last two compute each branch twice.
        joined: streams that the last norm reads, their "sum", or "both", which are twice as wide.

    Raises:
        ValueError: a block that cannot be undone, an unknown `activations` or `joined`; in training, unless "plain", a
            sub-layer that changes its variables (BatchNormalization).

    Example:
        >>> import numpy as np
        >>> from zoo.depth import ReversibleStack
        >>> from zoo.attention import LSHAttention
        >>> from zoo.blocks import PreNorm
        >>> from zoo.feedforward import FeedForward
        >>> blocks = [PreNorm(LSHAttention(8, 2), FeedForward(8, 16)) for _ in range(2)]
        >>> tuple(ReversibleStack(blocks)(np.ones((2, 3, 8), "float32"), training=True).shape)
        (2, 3, 8)

    References: https://arxiv.org/abs/1707.04585; https://arxiv.org/abs/2001.04451, section 3.
    """

    def __init__(
        self, blocks: Sequence[Any], activations: str = "reversible", joined: str = "sum", **kwargs: Any
    ) -> None:
        super().__init__(blocks, **{**kwargs, "autocast": False})
        wrong = sorted({type(block).__name__ for block in self.blocks if not Block.of(block).needs_final_norm})
        if wrong:
            raise ValueError(
                f"ReversibleStack cannot undo {wrong}: the norm on its stream loses the length of what went in. "
                "Expected blocks that add to the stream, such as PreNorm or Macaron; or take a Stack."
            )
        if activations not in ACTIVATIONS:
            raise ValueError(f"Unknown activations: expected one of {ACTIVATIONS}, received {activations!r}.")
        if joined not in JOINED:
            raise ValueError(f"Unknown joined: expected one of {JOINED}, received {joined!r}.")
        self.activations, self.joined = activations, joined

    @property
    def traits(self):
        return replace(super().traits, output_units=2 * self.units if self.joined == "both" else None)

    def compute_output_shape(self, x_shape, memory_shape=None):
        return (*x_shape[:-1], output_units(self))

    def call(self, x, mask=None, memory=None, memory_mask=None, causal=False, training=None):
        pieces = self._pieces(mask, memory_mask, causal, memory is not None, training)
        sides = () if memory is None else (wide(memory),)  # its gradient is a sum over the blocks
        streams = self._enter(x)
        losses, twice = [], training and not is_counting()
        if twice and self.activations == "reversible":
            *streams, loss = reversible(pieces, streams, sides)
            losses = [loss] if any(piece.adds_losses for piece in pieces) else []
        elif twice and self.activations == "checkpoint":
            for piece in pieces:
                change, loss = checkpoint(piece, streams[1], *sides)
                streams = half_step(streams, change)
                losses += [loss] if piece.adds_losses else []
        else:
            for piece in pieces:
                streams = half_step(streams, piece.function(streams[1], *sides))
        for loss in losses:
            self.add_loss(loss)
        return self._finish(streams)

    def _enter(self, x):
        return wide(x), wide(x)

    def _finish(self, x):
        if self.joined == "sum":
            return self.final_norm(x[0] + x[1])
        return self.final_norm(ops.concatenate(x, axis=2))  # not -1: an exported graph may not know how many axes x has

    def _pieces(self, mask, memory_mask, causal, remembers, training):
        """Every branch with its norm, as functions of a stream and the memory."""

        def change(block, index, x, memory=None):
            functions = block.functions(mask, memory, memory_mask, causal, training)
            norm, branch = block.branches(functions, training)[index]
            return branch(norm(x))

        pieces = []
        for block in self.blocks:
            block.check_memory(remembers)
            for index, name in enumerate(block.present):
                parts = getattr(block, name), block.norms[index], block.dropout_layers[index]
                pieces.append(Piece(partial(change, block, index), parts))
        return pieces


def half_step(streams, change):
    """`(a, b)` -> `(b, a + change)`."""
    first, second = streams
    return second, first + ops.cast(change, first.dtype)


def split(values, sizes):
    """`values` in lists of the given sizes."""
    values = iter(values)
    return [[next(values) for _ in range(size)] for size in sizes]


def reversible(pieces, streams, sides):
    """The two streams after all pieces and the sum of their losses; the gradient rebuilds the earlier streams.

    It is one custom gradient for the whole stack: one for each piece would keep each piece's input.
    """
    by_piece = [piece.values() for piece in pieces]
    sizes = [len(trained) for trained, _ in by_piece]
    count = len(sides)

    @ops.custom_gradient
    def run(first, second, *rest):
        sides, trained = rest[:count], split(rest[count:], sizes)
        records, last, loss = [], (first, second), ops.zeros((), "float32")
        for piece, values, (_, fixed) in zip(pieces, trained, by_piece, strict=True):
            records.append([])
            with recording(records[-1]):
                change, added = piece.run((values, fixed), last[1], *sides)
            last, loss = half_step(last, change), loss + added

        def gradient(*upstream, variables=()):
            before, now, of_the_loss = each_output(
                upstream
            )  # of the streams (b, a + f(b)) behind a piece, and the loss
            kept, changed = last
            side_gradients = [ops.zeros_like(side) for side in sides]
            value_gradients, ready = [None] * len(pieces), (now,)
            for index in reversed(range(len(pieces))):

                def change(x, *others, index=index):
                    with replaying(records[index]):
                        moved, added = pieces[index].run((others[count:], by_piece[index][1]), x, *others[:count])
                    return ops.cast(moved, x.dtype), added

                (moved, _), gradients = vjp(change, after(ready, kept, *sides, *trained[index]), (now, of_the_loss))
                value_gradients[index] = gradients[1 + count :]
                pairs = zip(side_gradients, gradients[1 : 1 + count], strict=True)
                side_gradients = [total + each for total, each in pairs]
                kept, changed = changed - moved, kept
                before, now = now, before + gradients[0]
                ready = (now, *gradients[1:])  # or else their parts are kept until XLA finds the time
            # the streams before the first piece are (kept, changed), their gradients (before, now)
            return (before, now, *side_gradients, *[each for gradients in value_gradients for each in gradients])

        return (*last, loss), gradient

    return run(*streams, *sides, *[value for trained, _ in by_piece for value in trained])


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
        **settings: dropout, cross, activation, seed, norm, epsilon: see `zoo.depth.stack.BlockSettings`.

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
