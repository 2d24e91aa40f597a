"""Attention whose queries are its keys, to positions that hash near them: what its two forms share."""

import math
import random

import numpy as np
from keras import layers, ops

from zoo.attention.base import combined_mask
from zoo.attention.cache import append
from zoo.attention.hashing import ALONE, BEHIND, hash_vectors, lsh_attention, unit
from zoo.attention.heads import Heads
from zoo.core.masks import MASKED, ImplicitMasks, wide
from zoo.core.protocols import Attention
from zoo.core.registry import keeps_arguments
from zoo.gradients.recall import recall


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
        for projection in (self.query_projection, self.value_projection):
            if not projection.built:  # `project` builds them where it is called first
                projection.build(tuple(query_shape))
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
