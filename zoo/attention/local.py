"""Attention as the Reformer of Hugging Face has it: among neighbouring chunks, and in some blocks among hashed ones."""

import math
from collections.abc import Sequence
from typing import Any

from keras import ops

from zoo.attention.chunks import chunked, chunks_of_texts, in_a_ring, in_a_row, neighbours, places_of_neighbours
from zoo.attention.lsh import HashedAttention
from zoo.attention.multi_head import MultiHeadAttention
from zoo.core.masks import combined_mask, masked_softmax
from zoo.core.protocols import Attention
from zoo.core.registry import register


def checked_looks(layer, looks):
    """`(before, after)`, how many chunks are met on each side, as a tuple.

    Raises:
        ValueError: it is no pair of whole numbers from 0 on.
    """
    pair = isinstance(looks, (list, tuple)) and len(looks) == 2
    if not pair or not all(isinstance(each, int) and each >= 0 for each in looks):
        raise ValueError(
            f"{layer} needs looks as two whole numbers from 0 on, the chunks before and after its own that a position "
            f"meets. Received: looks={looks!r}."
        )
    return tuple(looks)


def checked_multiple(layer, multiple, chunk_length):
    """`multiple`, or the length of a chunk where it is None.

    Raises:
        ValueError: it is no multiple of the length of a chunk.
    """
    if multiple is None:
        return chunk_length
    if not isinstance(multiple, int) or multiple < 1 or multiple % chunk_length:
        raise ValueError(
            f"{layer} pads to whole chunks, so multiple must be one of chunk_length={chunk_length}. Received: "
            f"multiple={multiple!r}."
        )
    return multiple


@register
class LocalAttention(MultiHeadAttention):
    """`head_i = softmax(Q_i K_i^T / sqrt(d)) V_i` of each position over its own chunk and the chunks beside it.

    Position `t` is in the chunk `t div chunk_length`, and meets `looks[0]` chunks before its own and `looks[1]` after
    it. If causal, it meets the earlier positions of these. Else the chunks of a text form a ring, so that its first
    chunk meets its last one, as in the code of Hugging Face: there, and here for each text by itself, a text is padded
    to a `multiple` first, and a chunk that is reached twice counts twice.

    Call arguments: as of `MultiHeadAttention`; `value` must be None. Steps over a cache are those of the causal pass.

    Returns: `(batch, time, units)`. Cost: `O(time * chunk_length * units)` in time, and `O(num_heads * time *
    chunk_length)` in memory, times the number of chunks that are met.

    Args:
        units, num_heads: as of `MultiHeadAttention`; no projection has a bias.
        chunk_length: positions of a chunk.
        looks: chunks before and after its own that a position meets.
        multiple: of positions, to which a text is padded; None is `chunk_length`.
        head_units: width of a head; without it `units / num_heads`.
        dropout: on the attention weights.
        seed: of the dropout.

    Raises:
        ValueError: sizes that do not fit, or a `value`.

    Example:
        >>> import numpy as np
        >>> from zoo.attention import LocalAttention
        >>> tuple(LocalAttention(8, num_heads=2, chunk_length=4)(np.ones((2, 11, 8), "float32"), causal=True).shape)
        (2, 11, 8)

    References: https://arxiv.org/abs/1801.10198, section 4.2.4; the ring: `LocalSelfAttention` of transformers.
    """

    traits = Attention(causal=True, steps=True, skips=True)

    def __init__(
        self,
        units: int,
        num_heads: int,
        chunk_length: int = 64,
        looks: Any = (1, 0),
        multiple: int | None = None,
        head_units: int | None = None,
        dropout: float = 0.0,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(units, num_heads, dropout, False, seed, head_units, **kwargs)
        if not isinstance(chunk_length, int) or chunk_length < 1:
            raise ValueError(
                f"LocalAttention needs a positive number of positions in a chunk. Received: {chunk_length!r}."
            )
        self.chunk_length, self.looks = chunk_length, checked_looks("LocalAttention", looks)
        self.padded_to, self.multiple = checked_multiple("LocalAttention", multiple, chunk_length), multiple

    def get_config(self):
        """As of the base; projections have no bias here."""
        return {name: value for name, value in super().get_config().items() if name != "use_bias"}

    def call(self, query, value=None, *, query_mask=None, value_mask=None, causal=False, cache=None, training=None):
        if value is not None:
            raise ValueError(
                f"{self.name} looks at the chunks of one text: expected value=None, received a value. For attention "
                "over a memory take MultiHeadAttention."
            )
        if cache is not None:
            mask = self._near(ops.shape(query)[1], ops.shape(cache["keys"])[2], value_mask, causal)
            return self.silence(self.attend(query, cache, mask), query_mask), cache
        mask = query_mask if value_mask is None else value_mask
        parts = self.query_projection(query), self.key_projection(query), self.value_projection(query)
        mixed = self._among_chunks(*map(self.split_heads, parts), mask, causal, training)
        return self.silence(self.output_projection(self.join_heads(mixed)), query_mask)

    def _near(self, time, entries, value_mask, causal):
        """`(batch | 1, time, entries)` bool: what positions meet, pair by pair, in a row."""
        steps = (ops.arange(time, dtype="int32") // self.chunk_length)[:, None]
        steps = ops.arange(entries, dtype="int32")[None] // self.chunk_length - steps
        near = ops.logical_and(steps >= -self.looks[0], steps <= self.looks[1])[None]
        mask = combined_mask(time, entries, value_mask, causal)
        return near if mask is None else ops.logical_and(mask, near)

    def _among_chunks(self, query, keys, values, mask, causal, training):
        """`(batch, heads, time, head_dim)` of split heads."""
        time = ops.shape(query)[2]
        extra = (self.padded_to - time % self.padded_to) % self.padded_to
        if mask is None:
            mask = ops.ones_like(query[:, 0, :, 0], dtype="bool")
        mask = ops.pad(mask, ((0, 0), (0, extra)), constant_values=False)
        room = ((0, 0), (0, 0), (0, extra), (0, 0))
        query, keys, values = (chunked(ops.pad(part, room), self.chunk_length) for part in (query, keys, values))
        here = ops.arange(time + extra, dtype="int32")
        known = chunked(ops.where(mask, here, -1)[:, None, :, None], self.chunk_length)
        count = ops.shape(query)[2]
        if causal:
            index = in_a_row(count, self.looks[0])
        else:
            own = chunks_of_texts(mask, self.chunk_length, self.padded_to)
            index = in_a_ring(own, count, 1, self.looks)
        there = ops.swapaxes(places_of_neighbours(known, index), -1, -2)
        allowed = there >= 0
        if causal:
            allowed = ops.logical_and(allowed, there <= chunked(here[None, None, :, None], self.chunk_length))
        scores = ops.matmul(query * self.head_dim**-0.5, ops.swapaxes(neighbours(keys, index), -1, -2))
        weights = self.dropout_layer(masked_softmax(scores, allowed), training=training)
        mixed = ops.matmul(weights, neighbours(values, index))
        return ops.reshape(mixed, (*ops.shape(mixed)[:2], -1, self.head_dim))[:, :, :time]

    def step(self, x, cache, seen=None, write_index=None):
        """As of `MultiHeadAttention`; the place of an entry is counted in a beam's own history."""
        if seen is None:
            seen = ops.ones((1, 1, ops.shape(cache["keys"])[2] + 1), dtype="bool")  # one beam, whose history is all
        chunk = (ops.cumsum(ops.cast(seen, "int32"), axis=-1) - 1) // self.chunk_length
        near = ops.logical_and(seen, chunk >= chunk[..., -1:] - self.looks[0])
        return super().step(x, cache, near, write_index)

    def attention_weights(self, query, value=None, *, value_mask=None, causal=False):
        """`(batch, heads, time, time)` for plots and tests, of chunks in a row."""
        time = ops.shape(query)[1]
        queries = self.split_heads(self.query_projection(query))
        mask = self._near(time, time, value_mask, causal)
        return self._weights(queries, self.project(query)["keys"], mask, None)


@register
class RingLSHAttention(HashedAttention):
    """`LSHAttention` whose sorted chunks form a ring, and whose rounds are mixed by what each of them says alone.

    `y_i = W_O sum_r exp(z_i^r - z_i) o_i^r`, where `o_i^r` is the attention of round `r`, `z_i^r` its log-sum-exp, and
    `z_i` that over the rounds: a pair that meets in two rounds counts twice. Sorted by (bucket, position), the chunks
    of all rounds stand in one ring: `looks` chunks before and after its own are met, and before the first chunk of a
    round stands the last one of the round before. A text is padded by itself to a `multiple` first.

    Call arguments, masking, cost, and steps: as of `LSHAttention`. The rotations are drawn when the layer is built.

    Args:
        units, num_heads, num_buckets, chunk_length, rounds: as of `LSHAttention`; no projection has a bias.
        head_units: width of each head; None is `units / num_heads`.
        looks: chunks before and after its own that a position meets.
        multiple: of positions, to which a text is padded; None is `chunk_length`.

    Raises:
        ValueError: sizes that do not fit, or a `value`.

    Example:
        >>> import numpy as np
        >>> from zoo.attention import RingLSHAttention
        >>> attention = RingLSHAttention(8, num_heads=2, num_buckets=4, chunk_length=4, head_units=3)
        >>> tuple(attention(np.ones((2, 11, 8), "float32"), causal=True).shape)
        (2, 11, 8)

    References: https://arxiv.org/abs/2001.04451, section 2; `LSHSelfAttention` of transformers.
    """

    def __init__(
        self,
        units: int,
        num_heads: int,
        num_buckets: int | Sequence[int] = 16,
        chunk_length: int = 64,
        rounds: int = 1,
        head_units: int | None = None,
        looks: Any = (1, 0),
        multiple: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(units, num_heads, num_buckets, chunk_length, rounds, head_units=head_units, **kwargs)
        self.looks, self.multiple = checked_looks("RingLSHAttention", looks), multiple
        self.padded_to = checked_multiple("RingLSHAttention", multiple, chunk_length)

    def ring(self, mask):
        """The chunks that each one meets, of `mask (batch, time)` that is padded already."""
        count = ops.shape(mask)[1] // self.chunk_length
        return in_a_ring(chunks_of_texts(mask, self.chunk_length, self.padded_to), count, self.rounds, self.looks)


def make_local_attention(
    units: int,
    num_heads: int,
    chunk_length: int = 64,
    before: int = 1,
    after: int = 0,
    head_units: int | None = None,
    hashed: Any = None,
    block: int | None = None,
) -> LocalAttention:
    """The attention of a Reformer's block, a `LocalAttention` or, in some blocks, a `RingLSHAttention`.

    Args:
        units, num_heads: as of `LocalAttention`.
        head_units: width of a head; without it `units / num_heads`.
        chunk_length: positions of a chunk.
        before: chunks before its own that a position meets.
        after: chunks after its own that a position meets, where it may look ahead.
        hashed: the blocks that hash. They have `blocks`, `num_buckets`, `chunk_length`, `before`, `after` and `rounds`
            of their own (`zoo.settings.layers.Hashed`), and a text is padded to a multiple of the chunks of all blocks.
        block: the number of the block.
    """
    hashing = hashed.blocks if hashed else ()
    own: dict[str, Any] = {
        "head_units": head_units,
        "multiple": math.lcm(chunk_length, hashed.chunk_length if hashing else 1),
    }
    if block not in hashing:
        return LocalAttention(units, num_heads, chunk_length, (before, after), **own)
    own |= {"rounds": hashed.rounds, "looks": (hashed.before, hashed.after)}
    return RingLSHAttention(units, num_heads, hashed.num_buckets, hashed.chunk_length, **own)
