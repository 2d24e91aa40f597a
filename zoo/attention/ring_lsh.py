"""LSH attention as the Reformer of Hugging Face has it: sorted chunks in a ring, and no account of meeting twice."""

import math
from collections.abc import Sequence
from typing import Any

from keras import ops

from zoo.attention.adjacent import checked_looks, checked_multiple, chunks_of_texts, in_a_ring
from zoo.attention.hashed import HashedAttention
from zoo.attention.local import LocalAttention
from zoo.core.registry import register


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
