"""Locality-sensitive hashing attention: a position attends to those whose hash falls near its own."""

import math
import random
from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
from keras import layers, ops

from zoo.attention.base import combined_mask
from zoo.attention.cache import append
from zoo.attention.hashing import ALONE, BEHIND, hash_vectors, lsh_attention, unit
from zoo.attention.heads import Heads
from zoo.core.masks import MASKED, ImplicitMasks
from zoo.core.precision import wide
from zoo.core.protocols import Attention
from zoo.core.registry import register
from zoo.gradients.recall import recall


@register
class LSHAttention(Heads, ImplicitMasks, layers.Layer):
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
        num_buckets: an even number, or a list of them whose product is the number of buckets (cheaper where it is
            large). About `2 * time / chunk_length`.
        chunk_length: positions of a chunk.
        rounds: independent hashes.
        use_bias: of the projections.
        resample: draw new rotations for every training step, as the authors' code does; a model that is to be
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

    traits = Attention(causal=True, steps=True, approximate=True)  # the steps see all, see above

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
        super().__init__(**kwargs)
        factors = [num_buckets] if isinstance(num_buckets, int) else list(num_buckets)
        sizes = (units, num_heads, chunk_length, rounds)
        if not all(isinstance(size, int) and size > 0 for size in sizes) or units % num_heads:
            raise ValueError(
                "LSHAttention needs positive integers, and units that its heads divide evenly. Received: "
                f"units={units!r}, num_heads={num_heads!r}, chunk_length={chunk_length!r}, rounds={rounds!r}."
            )
        whole = bool(factors) and all(isinstance(factor, int) and factor > 0 for factor in factors)
        if not whole or any(factor % 2 for factor in factors) or math.prod(factors) > BEHIND:
            raise ValueError(
                f"num_buckets must be even, for half of the buckets are the negatives of the others, or a list of even "
                f"factors, in all at most {BEHIND}. Received: num_buckets={num_buckets!r}."
            )
        self.units, self.num_heads, self.num_buckets = units, num_heads, num_buckets
        self.chunk_length, self.rounds, self.use_bias = chunk_length, rounds, use_bias
        self.resample, self.seed = resample, seed
        self.head_dim, self.factors = units // num_heads, factors
        self.supports_masking = True
        for name in ("query", "value", "output"):
            dense = layers.Dense(units, use_bias=use_bias, name=name, dtype=self.dtype_policy)
            setattr(self, f"{name}_projection", dense)
        self.seed_generator = keras.random.SeedGenerator(seed) if resample else None

    def build(self, query_shape, value_shape=None):
        for projection in (self.query_projection, self.value_projection):
            if not projection.built:  # `project` builds them where it is called first
                projection.build(tuple(query_shape))
        self.output_projection.build((*query_shape[:-1], self.units))
        draw = np.random.default_rng(
            random.getrandbits(31) if self.seed is None else self.seed
        )  # as Keras' initializers
        self.rotations = [
            self.add_weight(
                name=f"rotation_{index}",
                shape=(self.num_heads, self.head_dim, self.rounds, factor // 2),
                initializer=lambda shape, dtype: ops.convert_to_tensor(draw.normal(size=shape), dtype),
                trainable=False,
                dtype="float32",
                autocast=False,
            )
            for index, factor in enumerate(self.factors)
        ]

    def call(self, query, value=None, *, query_mask=None, value_mask=None, causal=False, cache=None, training=None):
        if value is not None:
            raise ValueError(
                f"{self.name} attends over one sequence, because its queries are its keys: expected value=None, "
                "received a value. For attention over a memory take MultiHeadAttention."
            )
        if cache is not None:
            time = ops.arange(ops.shape(query)[1], dtype="int32")
            mask = combined_mask(ops.shape(query)[1], ops.shape(query)[1], value_mask, causal)
            return self.silence(self.attend(query, cache, mask, time[:, None] == time), query_mask), cache
        mask = query_mask if value_mask is None else value_mask
        rotations = self._drawn() if training and self.resample else self.rotations
        mixed = self._near(self.query_projection(query), self.value_projection(query), rotations, mask, causal)
        return self.silence(self.output_projection(mixed), query_mask)

    def _drawn(self):
        """Rotations of this training step alone."""
        return [keras.random.normal(each.shape, dtype="float32", seed=self.seed_generator) for each in self.rotations]

    def _near(self, qk, values, rotations, mask, causal):
        """LSH attention of `(batch, time, units)` projections, padded to whole chunks."""
        time, dtype = ops.shape(qk)[1], qk.dtype
        extra = (self.chunk_length - time % self.chunk_length) % self.chunk_length
        if mask is None:
            mask = ops.ones_like(qk[:, :, 0], dtype="bool")
        mask = ops.pad(mask, ((0, 0), (0, extra)), constant_values=False)
        qk, values = (self.split_heads(wide(ops.pad(x, ((0, 0), (0, extra), (0, 0))))) for x in (qk, values))
        buckets = recall(lambda: hash_vectors(ops.stop_gradient(qk), rotations))
        mixed = lsh_attention(qk, values, buckets, self.chunk_length, mask, causal)
        return ops.cast(self.join_heads(mixed)[:, :time], dtype)

    def project(self, value):
        """`{"keys", "values"}` `(batch, heads, time, head_dim)`, the keys of unit length."""
        keys = unit(wide(self.split_heads(self.query_projection(value))))
        values = self.split_heads(self.value_projection(value))
        return {"keys": ops.cast(keys, values.dtype), "values": values}

    def empty_cache(self, batch, entries):
        """A pool without content: what `project` would give for nothing."""
        zeros = ops.zeros((batch, self.num_heads, entries, self.head_dim), dtype=self.compute_dtype)
        return {"keys": zeros, "values": zeros}

    def attend(self, query, cache, mask, own):
        """Exact: query `(batch, time, units)`; `own (time, entries)` bool says which entry is the query's own."""
        mixed = self._mix(self.query_projection(query), cache["keys"], cache["values"], mask, own)
        return self.output_projection(mixed)

    def step(self, x, cache, seen=None, write_index=None):
        """One new position a beam: see `MultiHeadAttention.step`."""
        query, new = self.query_projection(x), self.project(x)
        cache = append(cache, new["keys"], new["values"], write_index)
        entries, beams = ops.shape(cache["keys"])[2], ops.shape(x)[1]
        first = entries - beams if write_index is None else write_index
        own = ops.arange(entries, dtype="int32") == first + ops.arange(beams, dtype="int32")[:, None]
        return self.output_projection(self._mix(query, cache["keys"], cache["values"], seen, own)), cache

    def _mix(self, query, keys, values, mask, own):
        scores = ops.matmul(wide(self.split_heads(query)), ops.swapaxes(wide(keys), -1, -2))
        scores = ops.where(own, ALONE, scores)
        if mask is not None:
            scores = ops.where(mask[:, None], scores, MASKED)
        weights = ops.exp(scores - ops.logsumexp(scores, axis=-1, keepdims=True))
        if mask is not None:  # where nothing is seen all scores are alike
            weights = ops.where(mask[:, None], weights, 0.0)
        return self.join_heads(ops.matmul(ops.cast(weights, values.dtype), values))

    def get_config(self):
        names = "units num_heads num_buckets chunk_length rounds use_bias resample seed".split()
        return {**super().get_config(), **{name: getattr(self, name) for name in names}}
