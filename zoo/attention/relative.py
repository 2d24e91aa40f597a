"""Multi-head attention whose scores have a bias for each distance, as T5 has it in the place of positions."""

import math
from typing import Any

import numpy as np
from keras import initializers, ops

from zoo.attention.multi_head import MultiHeadAttention
from zoo.core.protocols import Attention
from zoo.core.registry import register


def buckets(count, max_distance):
    """`(max_distance + 1,)` int32: the bucket of each distance from 0 on, of `count`.

    Half of the buckets are for one distance each; the others grow with the logarithm of the distance, and the last one
    holds all from `max_distance` on. The numbers are float32, as in the code of T5, whose rounding is part of it.
    """
    exact = count // 2
    distances = np.arange(max_distance + 1)
    ratio = np.log(np.maximum(distances, 1).astype("float32") / np.float32(exact))
    far = exact + (ratio / np.float32(math.log(max_distance / exact)) * np.float32(count - exact)).astype("int32")
    return np.where(distances < exact, distances, np.minimum(far, count - 1)).astype("int32")


@register
class RelativeAttention(MultiHeadAttention):
    """`head_i = softmax(Q_i K_i^T / sqrt(d) + B_i) V_i`, `B_i[t, s] = b_i[bucket(s - t)]`, of each position's own text.

    The buckets of small distances hold one distance each, those of large ones a range that grows with the distance. If
    causal, all `num_buckets` are for what was before; else half of them are for what follows. T5 does not divide by
    `sqrt(d)`, and has one `b` for all its layers: multiply the weights of `W_Q` by `sqrt(d)`, and give every layer its
    `b`. A model then needs no other positions (`NoPositions`).

    Call arguments: as of `MultiHeadAttention`; `value` must be None. Steps over a cache are those of the causal pass.

    Returns: `(batch, time, units)`. Cost: as of `MultiHeadAttention`; `num_buckets num_heads` more parameters.

    Args:
        units, num_heads: as of `MultiHeadAttention`.
        num_buckets: biases of a head, each for a range of distances.
        max_distance: distance from which on all have one bias; more than half of `num_buckets`.
        dropout: on the attention weights.
        use_bias: biases of the four projections.
        seed: of the dropout.
        head_units: width of a head; without it `units / num_heads`.

    Raises:
        ValueError: sizes that do not fit, or a `value`.

    Example:
        >>> import numpy as np
        >>> from zoo.attention import RelativeAttention
        >>> tuple(RelativeAttention(8, num_heads=2)(np.ones((2, 11, 8), "float32"), causal=True).shape)
        (2, 11, 8)

    Reference: https://arxiv.org/abs/1910.10683, section 2.1.
    """

    traits = Attention(causal=True, steps=True, skips=True)

    def __init__(
        self,
        units: int,
        num_heads: int,
        num_buckets: int = 32,
        max_distance: int = 128,
        dropout: float = 0.0,
        use_bias: bool = False,
        seed: int | None = None,
        head_units: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(units, num_heads, dropout, use_bias, seed, head_units, **kwargs)
        whole = all(isinstance(size, int) for size in (num_buckets, max_distance))
        if not whole or num_buckets < 4 or num_buckets % 2 or max_distance <= num_buckets // 2:
            raise ValueError(
                "RelativeAttention needs an even num_buckets of at least 4, and a max_distance of more than half of "
                f"them. Received: num_buckets={num_buckets!r}, max_distance={max_distance!r}."
            )
        self.num_buckets, self.max_distance = num_buckets, max_distance

    def build(self, query_shape, value_shape=None):
        super().build(query_shape)
        self.biases = self.add_weight(
            name="biases",
            shape=(self.num_buckets, self.num_heads),
            initializer=initializers.RandomNormal(stddev=self.units**-0.5),
        )

    def call(self, query, value=None, *, query_mask=None, value_mask=None, causal=False, cache=None, training=None):
        if value is not None:
            raise ValueError(
                f"{self.name} knows the distances within one text: expected value=None, received a value. For "
                "attention over a memory take MultiHeadAttention."
            )
        given = {"query_mask": query_mask, "value_mask": value_mask, "causal": causal, "cache": cache}
        return super().call(query, training=training, **given)

    def bias(self, time, entries, causal):
        place, entry = ops.arange(time, dtype="int32")[:, None], ops.arange(entries, dtype="int32")[None]
        return self._of_distances(place - entry, causal)[None]

    def _of_distances(self, distance, causal):
        """`(heads, ...)` of how far back keys are, `(...)` int32; negative ones stand behind."""
        far = self.max_distance
        if causal:
            rows, distance = buckets(self.num_buckets, far), ops.maximum(distance, 0)
        else:
            half = self.num_buckets // 2
            back = buckets(half, far)
            rows = np.concatenate([half + back[:0:-1], back])  # the distances -far to far
            distance = ops.maximum(distance, -far) + far
        of_all = ops.transpose(ops.take(ops.cast(self.biases, self.compute_dtype), rows, axis=0))
        return ops.take(of_all, ops.minimum(distance, len(rows) - 1), axis=1)

    def step(self, x, cache, seen=None, write_index=None):
        """As of `MultiHeadAttention`; the distance of an entry is counted in a beam's own history."""
        if seen is None:
            seen = ops.ones((1, 1, ops.shape(cache["keys"])[2] + 1), dtype="bool")  # one beam, whose history is all
        counts = ops.cumsum(ops.cast(seen, "int32"), axis=-1)
        bias = ops.transpose(self._of_distances(counts[..., -1:] - counts, causal=True), (1, 0, 2, 3))
        projected = self.query_projection(x), self.key_projection(x), self.value_projection(x)
        mixed, cache = self.extend(*projected, cache, seen, write_index, bias)
        return self.output_projection(mixed), cache
