"""A memory of many value vectors that replaces a feed-forward network and is searched by half-keys."""

import math
from functools import partial
from typing import Any

import keras
from keras import initializers, layers, ops

from zoo.core import protocols
from zoo.core.devices import by_rows
from zoo.core.dropout import shifted
from zoo.core.masks import ImplicitMasks
from zoo.core.registry import register
from zoo.gradients.rows import mixed_rows

NORMS = ("batch", "layer", None)


def product_top_k(first, second, k):
    """The `k` best of all `n^2` sums `first[..., i] + second[..., j]`, best first: `(scores, i * n + j)`.

    Exactly the best: a sum among them has fewer than `k` better ones, hence each of its halves is among the best `k`
    of its own. So `min(k, n)^2` sums are looked at, not `n^2`.
    """
    size = first.shape[-1]
    half = min(k, size)
    (first, rows), (second, columns) = ops.top_k(first, half), ops.top_k(second, half)
    sums = first[..., :, None] + second[..., None, :]
    scores, places = ops.top_k(ops.reshape(sums, (*ops.shape(sums)[:-2], half * half)), k)
    places = ops.cast(places, "int32")
    rows = ops.take_along_axis(ops.cast(rows, "int32"), places // half, axis=-1)
    columns = ops.take_along_axis(ops.cast(columns, "int32"), places % half, axis=-1)
    return scores, rows * size + columns


def memory_usage(weights):
    """`{"usage", "kl"}` of the `(values,)` weights that a text laid on each value (`ProductKeyMemory.value_weights`).

    `usage` is the share of values with any weight at all. `kl = log(values) + sum_i z_i log z_i`, in nats, is how far
    the normalised weights are from uniform ones: 0 where all values are used alike, `log(values)` where one does
    it all.
    """
    weights = ops.cast(weights, "float32")
    shares = weights / ops.maximum(ops.sum(weights), keras.config.epsilon())
    entropy = -ops.sum(ops.where(shares > 0, shares * ops.log(ops.where(shares > 0, shares, 1.0)), 0.0))
    usage = ops.mean(ops.cast(weights > 0, "float32"))
    return {"usage": float(usage), "kl": math.log(weights.shape[0]) - float(entropy)}


@register
class ProductKeyMemory(ImplicitMasks, layers.Layer):
    """`y = sum_h sum_(i in I_h) w_hi v_i`, `w_h = softmax` over the `k` keys nearest to the head's query, `I_h`.

    A head's query `q_h = norm(W_h x + b_h)` has two halves, and its `num_keys^2` keys are all pairs of two sets of
    `num_keys` half-keys: `score(i, j) = q' . c_i + q'' . c'_j`. The `k` best pairs are found exactly among the pairs of
    the `k` best halves (`product_top_k`). The pair `(i, j)` stands for the value `v_(i * num_keys + j)`; all heads
    share the values.

    A position reads `num_heads * k` of `num_keys^2` values, and its gradient is as few: `zoo.training.RowAdam` updates
    the rows that were read, at a learning rate of their own.

    Shapes: `(batch, time, query_units)` -> `(batch, time, units)`. Cost of a position: `O(num_heads (num_keys query_dim
    + k^2 + k units))` in time; `num_keys^2 units` parameters.

    Masking: `mask (batch, time)` bool, True = keep, keeps padding out of the statistics of the batch norm; blocks
    pass it on.

    Causality: in training a batch norm's statistics are those of the whole batch, later positions included, as in the
    paper. In evaluation and step by step it is a fixed affine map and nothing leaks. Where that is not acceptable, or
    under a recompute ("checkpoint", "reversible"), take `query_norm="layer"`.

    Args:
        units: width of the output.
        num_keys: sub-keys of each half; the memory has their square of values.
        num_heads: of queries.
        k: values that each head reads.
        query_dim: width of a head's query, which has two halves.
        query_norm: norm of the queries, "batch" as in the paper or "layer" (of each head). None is no norm.
        seed: of keys and values.

    Raises:
        ValueError: sizes that do not fit, an unknown norm.

    Example:
        >>> import numpy as np
        >>> from zoo.feedforward import ProductKeyMemory
        >>> memory = ProductKeyMemory(8, num_keys=16, num_heads=2, k=4, query_dim=6)
        >>> tuple(memory(np.ones((2, 3, 8), "float32")).shape)
        (2, 3, 8)

    Reference: https://arxiv.org/abs/1907.05242.
    """

    traits = protocols.FeedForward(uses_mask=True)

    def __init__(
        self,
        units: int,
        num_keys: int = 512,
        num_heads: int = 4,
        k: int = 32,
        query_dim: int = 256,
        query_norm: str = "batch",
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        sizes = {"units": units, "num_keys": num_keys, "num_heads": num_heads, "k": k, "query_dim": query_dim}
        whole = all(isinstance(size, int) and size > 0 for size in sizes.values())
        if not whole or query_dim % 2 or k > num_keys**2:
            raise ValueError(
                "ProductKeyMemory needs positive integers, an even query_dim (a query has two halves) and k of at most "
                f"num_keys^2. Received: {', '.join(f'{name}={size!r}' for name, size in sizes.items())}."
            )
        if query_norm not in NORMS:
            raise ValueError(f"Unknown query_norm: expected one of {NORMS}, received {query_norm!r}.")
        self.units, self.num_keys, self.num_heads, self.k = units, num_keys, num_heads, k
        self.query_dim, self.query_norm, self.seed = query_dim, query_norm, seed
        self.num_values = num_keys**2
        width = num_heads * query_dim
        self.query_projection = layers.Dense(width, name="query", dtype=self.dtype_policy)
        self.norm = None
        if query_norm == "batch":
            self.norm = layers.BatchNormalization(momentum=0.9, epsilon=1e-5, name="query_norm", dtype="float32")
        if query_norm == "layer":
            self.norm = layers.LayerNormalization(epsilon=1e-5, name="query_norm", dtype="float32")

    def build(self, x_shape):
        self.query_projection.build(tuple(x_shape))
        if self.query_norm == "batch":
            self.norm.build((None, None, self.num_heads * self.query_dim))
        if self.query_norm == "layer":
            self.norm.build((None, None, self.num_heads, self.query_dim))
        half = self.query_dim // 2
        bound = half**-0.5
        self.keys = self.add_weight(
            name="keys",
            shape=(2, self.num_heads, self.num_keys, half),
            initializer=initializers.RandomUniform(-bound, bound, seed=shifted(self.seed, 0)),
            dtype="float32",
            autocast=False,
        )
        self.values = self.add_weight(
            name="values",
            shape=(self.num_values, self.units),
            initializer=initializers.RandomNormal(stddev=self.units**-0.5, seed=shifted(self.seed, 1)),
            autocast=False,  # a cast would copy all values and their gradient
        )
        self.values.traits = protocols.Weight(row_updates=True)

    def call(self, x, mask=None, training=None):
        indices, weights = self.select(x, mask, training)
        rows = self.num_heads * self.k
        indices, weights = (ops.reshape(each, (-1, rows)) for each in (indices, weights))
        outputs = ops.reshape(mixed_rows(self.values, indices, weights), (*ops.shape(x)[:2], self.units))
        return ops.cast(outputs, self.compute_dtype)

    def select(self, x, mask=None, training=None):
        """The values that each position reads, and how much of each: int32, float32 `(batch, time, num_heads, k)`."""
        first, second = self.half_scores(self.queries(x, mask, training))
        scores, indices = by_rows(partial(product_top_k, k=self.k), first, second)
        return indices, ops.exp(scores - ops.logsumexp(scores, axis=-1, keepdims=True))

    def queries(self, x, mask=None, training=None):
        """`(batch, time, num_heads, query_dim)` in float32: the choice of values must not depend on 8 bits."""
        queries = ops.cast(self.query_projection(x), "float32")
        if self.query_norm == "batch":
            queries = self.norm(queries, mask=mask, training=training)
        queries = ops.reshape(queries, (*ops.shape(x)[:2], self.num_heads, self.query_dim))
        return self.norm(queries) if self.query_norm == "layer" else queries

    def half_scores(self, queries):
        """Two `(batch, time, num_heads, num_keys)`: of the first half-keys and of the second."""
        half = self.query_dim // 2
        parts = queries[..., :half], queries[..., half:]
        return tuple(ops.einsum("bthd,hnd->bthn", part, self.keys[side]) for side, part in enumerate(parts))

    def value_weights(self, x, mask=None):
        """`(values,)` float32: what the positions of `x` laid on each value. Sum it over a text for `memory_usage`."""
        indices, weights = self.select(x)
        if mask is not None:
            weights = ops.where(mask[:, :, None, None], weights, 0.0)
        return ops.segment_sum(ops.reshape(weights, (-1,)), ops.reshape(indices, (-1,)), num_segments=self.num_values)

    def compute_output_shape(self, x_shape):
        return (*x_shape[:-1], self.units)
