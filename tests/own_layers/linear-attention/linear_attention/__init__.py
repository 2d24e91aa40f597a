"""Linear attention: sums over the past in the place of a softmax. A layer of another project, for seqzoo."""

from keras import layers, ops

import zoo
from zoo.attention.cache import append
from zoo.attention.heads import Heads
from zoo.core.masks import ImplicitMasks, wide
from zoo.core.protocols import Attention


@zoo.register("attention", name="linear")
class LinearAttention(Heads, ImplicitMasks, layers.Layer):
    """`y_t = phi(q_t) S_t / phi(q_t) z_t`, `S_t = sum_s phi(k_s) v_s^T`, `z_t = sum_s phi(k_s)`, `phi(x) = elu(x) + 1`.

    Over all `s`, or with `causal=True` over `s <= t`: cumulative sums, so the cost is `O(time * units * head_dim)`.

    Reference: https://arxiv.org/abs/2006.16236, equations 7-12.
    """

    traits = Attention(causal=True, crosses=True, steps=True, skips=True)

    def __init__(self, units, num_heads, epsilon=1e-6, **kwargs):
        super().__init__(**kwargs)
        self.units, self.num_heads, self.epsilon = units, num_heads, epsilon
        self.head_dim = units // num_heads
        for name in ("query", "key", "value", "output"):
            dense = layers.Dense(units, use_bias=False, name=name, dtype=self.dtype_policy)
            setattr(self, f"{name}_projection", dense)

    def build(self, query_shape, value_shape=None):
        self.query_projection.build(query_shape)
        for projection in (self.key_projection, self.value_projection):
            if not projection.built:  # `project` builds them where it is called first
                projection.build(value_shape or query_shape)
        self.output_projection.build((*query_shape[:-1], self.units))

    def call(self, query, value=None, *, query_mask=None, value_mask=None, causal=False, cache=None, training=None):
        if value is None and cache is None and value_mask is None:
            value_mask = query_mask
        held = self.project(query if value is None else value) if cache is None else cache
        keys, values = wide(held["keys"]), wide(held["values"])
        if value_mask is not None:
            keys = keys * ops.cast(value_mask, keys.dtype)[:, None, :, None]
        phi = wide(self.features(self.query_projection(query)))
        if causal:
            sums = ops.cumsum(keys[..., :, None] * values[..., None, :], axis=2)
            mixed = ops.matmul(phi[..., None, :], sums)[..., 0, :]
            norm = ops.cumsum(keys, axis=2)
        else:
            mixed = ops.matmul(phi, ops.matmul(ops.swapaxes(keys, -1, -2), values))
            norm = ops.sum(keys, axis=2, keepdims=True)
        output = self.silence(self._divide(mixed, ops.sum(phi * norm, axis=-1, keepdims=True)), query_mask)
        return output if cache is None else (output, cache)

    def features(self, x):
        return self.split_heads(ops.elu(x) + 1.0)

    def _divide(self, mixed, norm):
        return self.output_projection(self.join_heads(ops.cast(mixed / (norm + self.epsilon), self.compute_dtype)))

    def project(self, value):
        keys, values = self.key_projection(value), self.value_projection(value)
        return {"keys": self.features(keys), "values": self.split_heads(values)}

    def append_to_cache(self, x, cache, seen=None, write_index=None):
        return append(cache, *self.project(x).values(), write_index)

    def step(self, x, cache, seen=None, write_index=None):
        cache = self.append_to_cache(x, cache, seen, write_index)
        return self.attend(x, cache, seen), cache

    def attend(self, query, cache, mask=None):
        weights = wide(ops.matmul(self.features(self.query_projection(query)), ops.swapaxes(cache["keys"], -1, -2)))
        weights = weights if mask is None else ops.where(mask[:, None], weights, 0.0)
        return self._divide(ops.matmul(weights, wide(cache["values"])), ops.sum(weights, axis=-1, keepdims=True))

    def get_config(self):
        own = {"units": self.units, "num_heads": self.num_heads, "epsilon": self.epsilon}
        return {**super().get_config(), **own}
