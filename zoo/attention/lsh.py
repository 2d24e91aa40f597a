"""Locality-sensitive hashing attention: a position attends to those whose hash falls near its own."""

from collections.abc import Sequence
from typing import Any

import keras

from zoo.attention.hashed import HashedAttention
from zoo.core.registry import register


@register
class LSHAttention(HashedAttention):
    """`y_i = W_O sum_j softmax_j(q_i . q_j / ||q_j||) v_j` over the positions `j` that hash near `i`.

    Queries are also the keys (brought to unit length, and therefore without the factor `1 / sqrt(d)`). A position sees
    itself only where it sees nothing else. Each round hashes by random rotations, sorts by (bucket, position), cuts the
    sequence into chunks and lets a position meet its own chunk and the previous one; several rounds give exactly the
    softmax over the union of what they meet. Any length is possible, because padding fills the last chunk. A sequence
    of at most one chunk gets exact attention.

    The rotations are drawn from `seed` once and stored as a weight that is not trained, so that results repeat and
    exports agree. Where a pass is computed again (`zoo.gradients.recall`) the buckets of the forward pass are used.

    Call arguments: as of `MultiHeadAttention`, but for `value`, which must be None: queries and keys are one.
    Masking: padding is sorted after everything else and never changes a valid position; its output is the bias of
    `W_O` alone. The
    mask matters even with `causal=True`: a later position changes none of the scores, but it moves the limits of the
    chunks, and so which earlier positions are met.

    Returns: `(batch, time, units)`. Cost: `O(rounds * time * chunk_length * units)` in time, `O(rounds * num_heads *
    time * chunk_length)` in memory, and `O(rounds * num_heads * time * max(num_buckets))` for the hashes.

    Decoding (`step`, and the `prefill` of a prompt) attends to all earlier positions, which is the limit of many
    rounds. The cost of a step is linear in its history in any case, so hashing would save nothing. It equals the full
    pass exactly up to one chunk, and the full pass approaches it with more rounds.

    Args:
        units: width of the output and of all heads together.
        num_heads: a divisor of `units`.
        num_buckets: hash buckets, an even number, or the even factors of their number, which is cheaper where it is
            large. About `2 * time / chunk_length`.
        chunk_length: positions of a chunk that attends to itself and the one before.
        rounds: independent hashings whose results are mixed.
        use_bias: biases of the projections.
        resample: draw new hashes at every step of training, as the authors' code does. A model that is to be
            evaluated with other numbers of rounds needs it.
        seed: of the rotations.

    Raises:
        ValueError: sizes that do not fit, or a `value`.

    Example:
        >>> import numpy as np
        >>> from zoo.attention import LSHAttention
        >>> attention = LSHAttention(8, num_heads=2, num_buckets=4, chunk_length=4, rounds=2)
        >>> tuple(attention(np.ones((2, 11, 8), "float32"), causal=True).shape)
        (2, 11, 8)

    Reference: https://arxiv.org/abs/2001.04451, section 2.
    """

    def __init__(
        self,
        units: int,
        num_heads: int,
        num_buckets: int | Sequence[int] = 16,
        chunk_length: int = 64,
        rounds: int = 2,
        use_bias: bool = False,
        resample: bool = False,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(units, num_heads, num_buckets, chunk_length, rounds, use_bias, seed, **kwargs)
        self.resample = resample
        self.seed_generator = keras.random.SeedGenerator(seed) if resample else None

    def rotations_of(self, training):
        """Drawn for this training step alone, if `resample`."""
        if not (training and self.resample):
            return self.rotations
        return [keras.random.normal(each.shape, dtype="float32", seed=self.seed_generator) for each in self.rotations]
