"""Multi-head scaled dot-product attention: self-attention, over a memory, and step by step over a pool of keys."""

from typing import Any

from keras import layers, ops

from zoo.attention.cache import append
from zoo.attention.heads import Heads
from zoo.core.devices import backend, on_a_processor
from zoo.core.dropout import Dropout, shifted
from zoo.core.masks import ImplicitMasks, combined_mask, masked_softmax, sees_any
from zoo.core.protocols import Attention
from zoo.core.registry import build_parts, register
from zoo.gradients.ambient import Ambient

portable = Ambient()  # where True holds, attention has no kernel of this device alone: what is traced lowers anywhere


def has_kernel(dtype):
    """Whether Keras' attention can be compiled: JAX asks for float16 products that XLA does not have for processors."""
    return dtype != "float16" or backend() != "jax" or not on_a_processor()


@register
class MultiHeadAttention(Heads, ImplicitMasks, layers.Layer):
    """`y = [head_1; ...; head_h] W_O`, `head_i = softmax(Q_i K_i^T / sqrt(d)) V_i`, `d = units / num_heads`.

    `Q = x W_Q`, `K = z W_K`, `V = z W_V`; head `i` has columns `i d .. (i + 1) d` of each. A fused kernel is used where
    there is one (`keras.ops.dot_product_attention`); dropout on the weights needs the explicit form, and so does
    float16 on JAX on a processor.

    Call arguments:
        query: `(batch, time, query_units)`.
        value: `(batch, value_time, value_units)`; None is self-attention.
        query_mask: `(batch, time)` bool; outputs of masked queries are 0. `mask` is another name for it, by which Keras
            hands over what an `Embedding(mask_zero=True)` has attached. Without a value it masks the keys, too.
        value_mask: `(batch, value_time)` bool, True = keep. A query that may see nothing gives the bias of `W_O` alone.
        causal: position j sees only positions up to j.
        cache: `project(value)`; then `value` is not needed, and the result is `(output, cache)`.

    Returns: `(batch, time, units)`. Cost: `O(time * value_time * units)` in time, `O(time * value_time * num_heads)` in
    memory where no fused kernel exists.

    Args:
        units: width of the output, and of all heads together unless there are `head_units`.
        num_heads: a divisor of `units` then.
        dropout: on the attention weights.
        use_bias: biases of the four projections.
        seed: of the dropout.
        head_units: width of a head, `d`; without it `units / num_heads`.

    Raises:
        ValueError: `num_heads` does not divide `units`, or a size is not a positive integer.

    Example:
        >>> import numpy as np
        >>> from zoo.attention import MultiHeadAttention
        >>> attention = MultiHeadAttention(8, num_heads=2)
        >>> tuple(attention(np.ones((2, 3, 8), "float32"), np.ones((2, 7, 5), "float32")).shape)
        (2, 3, 8)

    Reference: https://arxiv.org/abs/1706.03762, section 3.2.
    """

    traits = Attention(causal=True, crosses=True, steps=True, skips=True, weighs=True)

    def __init__(
        self,
        units: int,
        num_heads: int,
        dropout: float = 0.0,
        use_bias: bool = True,
        seed: int | None = None,
        head_units: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        sizes = (units, num_heads, 1 if head_units is None else head_units)
        whole = all(isinstance(size, int) and size > 0 for size in sizes)
        if not whole or (head_units is None and units % num_heads):
            raise ValueError(
                f"{type(self).__name__} needs units that its heads divide evenly, or head_units, all of them positive. "
                f"Received: units={units!r}, num_heads={num_heads!r}, head_units={head_units!r}."
            )
        self.units, self.num_heads, self.head_units = units, num_heads, head_units
        self.dropout, self.use_bias, self.seed = dropout, use_bias, seed
        self.head_dim = head_units or units // num_heads
        for name in ("query", "key", "value", "output"):
            width = units if name == "output" else num_heads * self.head_dim
            dense = layers.Dense(width, use_bias=use_bias, name=name, dtype=self.dtype_policy)
            setattr(self, f"{name}_projection", dense)
        self.dropout_layer = Dropout(dropout, seed=shifted(seed, 0), dtype=self.dtype_policy)

    def build(self, query_shape, value_shape=None):
        self.query_projection.build(tuple(query_shape))
        build_parts([self.key_projection, self.value_projection], value_shape or query_shape)
        self.output_projection.build((*query_shape[:-1], self.num_heads * self.head_dim))

    def bias(self, time, entries, causal):
        """What is added to the scores, `(1, heads, time, entries)`; None is nothing."""
        return None

    def call(self, query, value=None, *, query_mask=None, value_mask=None, causal=False, cache=None, training=None):
        if cache is not None:
            sizes = ops.shape(query)[1], ops.shape(cache["keys"])[2]
            mask, bias = combined_mask(*sizes, value_mask, causal), self.bias(*sizes, causal)
            return self.silence(self.attend(query, cache, mask, bias), query_mask), cache
        if value is None:
            value, value_mask = query, query_mask if value_mask is None else value_mask
        projected = self.query_projection(query), self.key_projection(value), self.value_projection(value)
        bias = self.bias(ops.shape(query)[1], ops.shape(value)[1], causal)
        if (self.dropout and training) or not has_kernel(self.compute_dtype):
            mixed = self._mix_with_dropout(*projected, value_mask, causal, bias, training)
        else:
            mixed = self.mix_all(*projected, value_mask, causal, bias)
        return self.silence(self.output_projection(mixed), query_mask)

    def attend(self, query, cache, mask=None, bias=None):
        """Over projected keys and values: query `(batch, time, units)`, mask `(batch | 1, time | 1, entries)` bool."""
        mixed = self.mix(self.query_projection(query), cache["keys"], cache["values"], mask, bias)
        return self.output_projection(mixed)

    def step(self, x, cache, seen=None, write_index=None):
        """Self-attention of one new position a beam, `x (batch, beams, units)`, over the pool and the new entries.

        `seen (batch, beams, entries)` includes the new entries; None sees all. `write_index`: see
        `zoo.attention.cache.append`.

        Returns: `(output, cache)`.
        """
        projected = self.query_projection(x), self.key_projection(x), self.value_projection(x)
        mixed, cache = self.extend(*projected, cache, seen, write_index)
        return self.output_projection(mixed), cache

    def append_to_cache(self, x, cache, seen=None, write_index=None):
        """The cache of `step`, without the outputs of the new positions."""
        return append(cache, *self.project(x).values(), write_index)

    def extend(self, query, key, value, cache, seen, write_index, bias=None):
        """`(mixed, cache)` of projected `(batch, beams, units)`: append, then mix."""
        cache = append(cache, self.split_heads(key), self.split_heads(value), write_index)
        return self.mix(query, cache["keys"], cache["values"], seen, bias), cache

    def mix(self, query, keys, values, mask=None, bias=None):
        """`[head_1; ...; head_h]` of a projected query and split keys and values."""
        weights = self._weights(self.split_heads(query), keys, mask, bias)
        return self.join_heads(ops.matmul(weights, values))

    def mix_all(self, query, key, value, value_mask=None, causal=False, bias=None):
        """The same of projected `(batch, time, units)`, by a fused kernel where there is one."""
        mask = None if value_mask is None else ops.cast(value_mask, "bool")[:, None, None, :]
        if mask is not None and backend() == "jax" and not on_a_processor():
            # cuDNN's kernel asks for a row for each query; without it Keras logs an error, and uses no kernel.
            mask = ops.broadcast_to(mask, (*mask.shape[:2], query.shape[1], mask.shape[3]))
        heads = [
            ops.reshape(part, (*ops.shape(part)[:2], self.num_heads, self.head_dim)) for part in (query, key, value)
        ]
        kernels = False if portable.value else None  # None: Keras decides
        mixed = ops.dot_product_attention(*heads, bias=bias, mask=mask, is_causal=causal, flash_attention=kernels)
        mixed = ops.reshape(mixed, (*ops.shape(query)[:2], self.num_heads * self.head_dim))
        if value_mask is None:
            return mixed
        # A kernel gives a query that may see nothing the mean of all values, later ones among them.
        seeing = sees_any(ops.shape(query)[1], value_mask, causal)
        return ops.where(seeing[:, :, None], mixed, 0.0)

    def attention_weights(self, query, value=None, *, value_mask=None, causal=False):
        """`(batch, heads, time, value_time)` for plots and tests."""
        value = query if value is None else value
        sizes = ops.shape(query)[1], ops.shape(value)[1]
        given = combined_mask(*sizes, value_mask, causal), self.bias(*sizes, causal)
        return self._weights(self.split_heads(self.query_projection(query)), self.project(value)["keys"], *given)

    def memory_weights(self, query, cache, mask=None):
        """`(batch, time, entries)`: the weights of `attend`, the mean of the heads."""
        heads = self.split_heads(self.query_projection(query))
        return ops.mean(self._weights(heads, cache["keys"], mask, None), axis=1)

    def _weights(self, query, keys, mask, bias):
        scores = ops.matmul(query * self.head_dim**-0.5, ops.swapaxes(keys, -1, -2))
        scores = scores if bias is None else scores + bias
        return masked_softmax(scores, None if mask is None else mask[:, None])

    def _mix_with_dropout(self, query, key, value, value_mask, causal, bias, training):
        query, key, value = (self.split_heads(part) for part in (query, key, value))
        mask = combined_mask(ops.shape(query)[2], ops.shape(key)[2], value_mask, causal)
        weights = self.dropout_layer(self._weights(query, key, mask, bias), training=training)
        return self.join_heads(ops.matmul(weights, value))
