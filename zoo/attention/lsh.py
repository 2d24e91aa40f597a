"""Locality-sensitive hashing attention: a position attends to those whose hash falls near its own.

Queries are keys. They are hashed and sorted, cut into chunks, attended within them, and the rounds are combined.
"""

import math
import random
from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
from keras import layers, ops

from zoo.attention.cache import append
from zoo.attention.chunks import neighbours, places_of_neighbours, sort_rows, take_rows, unsort_rows, windows
from zoo.attention.heads import Heads
from zoo.core.masks import MASKED, ImplicitMasks, combined_mask, wide
from zoo.core.protocols import Attention
from zoo.core.registry import build_parts, keeps_arguments, register
from zoo.gradients.recompute import recall

ALONE = -1e5  # the score of a position for itself, which counts only if it meets no other
BEHIND = 2**20  # the bucket of padding; tf2onnx sorts as float32, which holds whole numbers up to 2^24


def unit(x):
    """`x / ||x||` over the last axis."""
    return x * ops.rsqrt(ops.sum(x * x, axis=-1, keepdims=True) + 1e-12)


def hash_vectors(x, rotations):
    """`h(x) = argmax([xR; -xR])` for each round, several factors joined: `(batch, heads, rounds, time)` int32.

    Args:
        x: `(batch, heads, time, d)`.
        rotations: list of `(heads, d, rounds, n_i / 2)`; the hash is a number of mixed radix below `n_1 n_2 ...`.
    """
    total = 0
    for rotation in rotations:
        rotated = ops.einsum("bhtd,hdrn->bhrtn", x, ops.cast(rotation, x.dtype))
        rotated = ops.concatenate([rotated, -rotated], axis=-1)
        best = rotated == ops.max(rotated, axis=-1, keepdims=True)
        total = total * rotated.shape[-1] + ops.cast(ops.argmax(ops.cast(best, "int32"), axis=-1), "int32")
    return total


def multiplicity(chunk_of, order, chunk):
    """`N_ij`: in how many rounds `i` meets `j`, for every pair of every window; at least 1.

    Args:
        chunk_of: `(batch, heads, time, rounds)`, the chunk that each position is sorted into.
        order: `(batch, heads, rounds, time)`, positions in sorted order.
        chunk: chunk length.
    """
    met = take_rows(chunk_of, order)
    met = ops.reshape(met, (*ops.shape(order)[:3], -1, chunk, chunk_of.shape[-1]))
    others, count = windows(met, fill=-2), 0
    for index in range(chunk_of.shape[-1]):
        step = met[..., :, None, index] - others[..., None, :, index]
        count = count + ops.cast(ops.logical_or(step == 0, step == 1), "int32")
    return ops.maximum(count, 1)


def lsh_attention(qk, values, buckets, chunk, mask=None, causal=False, ring=None):
    """Softmax attention of each position over the union of what its rounds let it meet.

    In round `r` positions are sorted by `(bucket, position)`, cut into chunks, and `i` meets the positions of its own
    chunk and of the previous one. `o_i = sum_r exp(z_i^r - z_i) o_i^r`, `z_i^r` the log-sum-exp of `q_i k_j - log N_ij`
    over what it meets in round `r`, `z_i` that over the rounds: with the multiplicity `N_ij` (in how many rounds `i`
    meets `j`) this is one softmax over the union.

    Args:
        qk: `(batch, heads, time, d)`, the shared queries and keys; keys are brought to unit length.
        values: `(batch, heads, time, d)`.
        buckets: `(batch, heads, rounds, time)` int32, below 2^20.
        chunk: a divisor of the time.
        mask: `(batch, time)` bool, True = keep. Masked positions are sorted after all others, and their outputs are 0.
        causal: position j sees only positions up to j.
        ring: `(batch, rounds * chunks, slots)` int32, the chunks that each one meets instead, of all rounds in order
            (`zoo.attention.chunks`); then there is no `N_ij`, and what meets twice counts twice.

    Returns: `(batch, heads, time, d)`.
    """
    (batch, heads, time, _), rounds = ops.shape(qk), buckets.shape[2]
    if mask is not None:
        buckets = ops.where(mask[:, None, None, :], buckets, BEHIND)
    order = ops.cast(ops.argsort(buckets, axis=-1), "int32")  # stable on every engine, so also by position
    rank = ops.cast(ops.argsort(order, axis=-1), "int32")
    known = order  # the position of each sorted place, -1 where it is padding
    if mask is not None:
        kept = ops.sum(ops.cast(mask, "int32"), axis=1)[:, None, None, None]
        known = ops.where(ops.arange(time, dtype="int32") < kept, order, -1)

    def chunked(x):
        return ops.reshape(x, (batch, heads, rounds, -1, chunk, x.shape[-1]))

    def around(x, fill=0):
        if ring is None:
            return windows(x, fill)
        meet = neighbours if fill == 0 else places_of_neighbours
        met = meet(ops.reshape(x, (batch, heads, -1, chunk, x.shape[-1])), ring)
        return ops.reshape(met, (batch, heads, rounds, -1, ring.shape[2] * chunk, x.shape[-1]))

    queries, sorted_values = (chunked(sort_rows(each, order, rank)) for each in (qk, values))
    here = chunked(known[..., None])
    there = ops.swapaxes(around(here, fill=-1), -1, -2)  # where the keys of each query are, -1 before the first chunk
    scores = ops.matmul(queries, ops.swapaxes(around(unit(queries)), -1, -2))
    scores = ops.where(here == there, ALONE, scores)
    if rounds > 1 and ring is None:
        chunk_of = ops.transpose(rank // chunk, (0, 1, 3, 2))
        scores = scores - ops.log(ops.cast(multiplicity(chunk_of, order, chunk), scores.dtype))
    allowed = ops.logical_and(there >= 0, there <= here) if causal else there >= 0
    scores = ops.where(allowed, scores, MASKED)
    log_sum = ops.logsumexp(scores, axis=-1, keepdims=True)
    weights = ops.exp(scores - log_sum)
    if ring is not None:  # where a position meets nothing but itself, and twice, float32 rounds the sum by up to 0.004
        weights = weights / ops.sum(weights, axis=-1, keepdims=True)
    outputs = ops.matmul(weights, around(sorted_values))

    def unsorted(x):
        return unsort_rows(ops.reshape(x, (batch, heads, rounds, -1, x.shape[-1])), order, rank)

    if rounds == 1:
        mixed = unsorted(outputs)[:, :, 0]
    else:
        mixed = ops.sum(ops.softmax(unsorted(log_sum), axis=2) * unsorted(outputs), axis=2)
    return mixed if mask is None else ops.where(mask[:, None, :, None], mixed, 0.0)


@keeps_arguments
class HashedAttention(Heads, ImplicitMasks, layers.Layer):
    """Projections, rotations, the pass over chunks, and the steps; a subclass says how chunks meet (`ring`).

    Args:
        units, num_heads, num_buckets, chunk_length, rounds, use_bias, seed: as of `LSHAttention`.
        head_units: width of each head; None is `units / num_heads`.
    """

    traits = Attention(causal=True, steps=True, approximate=True)  # the steps see all

    def __init__(
        self, units, num_heads, num_buckets, chunk_length, rounds, use_bias=False, seed=None, head_units=None, **kwargs
    ):
        super().__init__(**kwargs)
        factors = [num_buckets] if isinstance(num_buckets, int) else list(num_buckets)
        sizes = (units, num_heads, chunk_length, rounds, 1 if head_units is None else head_units)
        whole = all(isinstance(size, int) and size > 0 for size in sizes)
        if not whole or head_units is None and units % num_heads:
            raise ValueError(
                f"{type(self).__name__} needs positive integers, and units that its heads divide evenly, or "
                f"head_units. Received: units={units!r}, num_heads={num_heads!r}, chunk_length={chunk_length!r}, "
                f"rounds={rounds!r}, head_units={head_units!r}."
            )
        whole = bool(factors) and all(isinstance(factor, int) and factor > 0 for factor in factors)
        if not whole or any(factor % 2 for factor in factors) or math.prod(factors) > BEHIND:
            raise ValueError(
                f"num_buckets must be even, for half of the buckets are the negatives of the others, or a list of even "
                f"factors, in all at most {BEHIND}. Received: num_buckets={num_buckets!r}."
            )
        self.units, self.num_heads, self.num_buckets = units, num_heads, num_buckets
        self.chunk_length, self.rounds, self.use_bias = chunk_length, rounds, use_bias
        self.seed, self.head_units = seed, head_units
        self.head_dim, self.factors = head_units or units // num_heads, factors
        self.padded_to = chunk_length
        for name in ("query", "value", "output"):
            width = units if name == "output" else num_heads * self.head_dim
            dense = layers.Dense(width, use_bias=use_bias, name=name, dtype=self.dtype_policy)
            setattr(self, f"{name}_projection", dense)

    def build(self, query_shape, value_shape=None):
        build_parts([self.query_projection, self.value_projection], query_shape)
        self.output_projection.build((*query_shape[:-1], self.num_heads * self.head_dim))
        seed = random.getrandbits(31) if self.seed is None else self.seed  # as Keras' initializers draw one
        draw = np.random.default_rng(seed)
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
        parts = self.query_projection(query), self.value_projection(query)
        mixed = self._near(*parts, self.rotations_of(training), mask, causal)
        return self.silence(self.output_projection(mixed), query_mask)

    def rotations_of(self, training):
        """Those of a pass."""
        return self.rotations

    def _near(self, qk, values, rotations, mask, causal):
        """LSH attention of `(batch, time, units)` projections, padded to whole chunks."""
        time, dtype = ops.shape(qk)[1], qk.dtype
        extra = (self.padded_to - time % self.padded_to) % self.padded_to
        if mask is None:
            mask = ops.ones_like(qk[:, :, 0], dtype="bool")
        mask = ops.pad(mask, ((0, 0), (0, extra)), constant_values=False)
        qk, values = (self.split_heads(wide(ops.pad(x, ((0, 0), (0, extra), (0, 0))))) for x in (qk, values))
        buckets = recall(lambda: hash_vectors(ops.stop_gradient(qk), rotations))
        mixed = lsh_attention(qk, values, buckets, self.chunk_length, mask, causal, self.ring(mask))
        return ops.cast(self.join_heads(mixed)[:, :time], dtype)

    def ring(self, mask):
        """None: the sorted chunks of a round stand in a row, and the first one meets itself alone."""

    def project(self, value):
        """`{"keys", "values"}` `(batch, heads, time, head_dim)`, the keys of unit length."""
        keys = unit(wide(self.split_heads(self.query_projection(value))))
        values = self.split_heads(self.value_projection(value))
        return {"keys": ops.cast(keys, values.dtype), "values": values}

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


@register
class LSHAttention(HashedAttention):
    """`y_i = W_O sum_j softmax_j(q_i . q_j / ||q_j||) v_j` over the positions `j` that hash near `i`.

    Queries are also the keys (brought to unit length, and therefore without the factor `1 / sqrt(d)`). A position sees
    itself only where it sees nothing else. Each round hashes by random rotations, sorts by (bucket, position), cuts the
    sequence into chunks and lets a position meet its own chunk and the previous one; several rounds give exactly the
    softmax over the union of what they meet. Any length is possible, because padding fills the last chunk. A sequence
    of at most one chunk gets exact attention.

    The rotations are drawn from `seed` once and stored as a weight that is not trained, so that results repeat and
    exports agree. Where a pass is computed again (`zoo.gradients.recompute`) the buckets of the forward pass are used.

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
