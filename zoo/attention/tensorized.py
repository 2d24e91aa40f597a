"""Multi-linear attention: a tensor over triples of positions, in block-term form."""

import math
from typing import Any

from keras import initializers, layers, ops

from zoo.attention.cache import append
from zoo.core.masks import ImplicitMasks, wide
from zoo.core.protocols import Attention
from zoo.core.registry import build_parts, register

MODES = ("split_concat", "reconstruct")


def triples_before(time):
    """`(time, time, time)` bool: whether position i may use the pair (j, m), that is `j <= i` and `m <= i`."""
    place = ops.arange(time, dtype="int32")
    before = place[None, :] <= place[:, None]
    return ops.logical_and(before[:, :, None], before[:, None, :])


def multi_linear(core, query, keys, values):
    """`A_ijm = sum_r g_r Q_ir K_jr V_mr`: core `(rank,)`, the others `(batch, time, rank)` -> `(batch, t, t, t)`."""
    pairs = (query * core)[:, :, None, :] * keys[:, None, :, :]
    batch, time = ops.shape(query)[0], ops.shape(query)[1]
    flat = ops.reshape(pairs, (batch, time * time, query.shape[-1]))
    tensor = ops.matmul(flat, ops.swapaxes(values, 1, 2))
    return ops.reshape(tensor, (batch, time, time, ops.shape(values)[1]))


@register
class MultiLinearAttention(ImplicitMasks, layers.Layer):
    """`y_i = SplitConcat(A)_i W_O`, `A_ijm = 1/h sum_c sum_r g_cr Q_ir K_jr V_mr`, `g_c = softmax(w_c)`.

    `Q = x W_Q`, `K = x W_K`, `V = x W_V`, each `(time, rank)` and shared by the `h` cores. A position's slice `A_i` is
    `time x time`; laid out as one row it is multiplied by `W_O (max_time^2, units)`. As in the paper, the weights bound
    the length, there is no softmax over positions, and the output is cubic in `x`.

    Several cores are equal to one: the mean of `h` of them over shared factors is one core, `g = mean_c g_c`, so `h`
    adds parameters but no function (softmax already reaches every core of positive numbers that sum to 1). They are
    kept because the paper counts their parameters.

    Causal: `A_ijm = 0` unless `j <= i` and `m <= i`. The paper defines no causal form, and the released language model
    ignores its mask. Masking: padding has `K = V = 0`, and never changes a valid position.

    Mode "reconstruct" is the paper's Corollary 1: `X_im = sum_j A_ijm`, which is `(q_i * g * sum_j k_j) . v_m` and
    reads the keys through their sum alone; then `W_O (max_time, units)`. The tensor is never computed.

    Call arguments: as of `MultiHeadAttention`; `value` must be None. Steps over a cache are those of the causal pass;
    positions at `max_time` or later are not seen (`LearnedPositions(max_time)` keeps texts shorter).

    Returns: `(batch, time, units)`. Cost: `O(time^3 (rank + units))` in time, `O(time^3)` in memory; `3 units rank + h
    rank` parameters, and `max_time^2 units` of `W_O`, which the paper's ratios leave out.

    Args:
        units: width of the output.
        rank: rank of the factors, the paper's d_k = d_v, and with a diagonal core also its R.
        max_time: longest text, in tokens.
        num_cores: core tensors that are averaged, `h`.
        mode: how the tensor becomes a matrix again, "split_concat" or "reconstruct", which is exact.

    Raises:
        ValueError: sizes that do not fit, an unknown mode, a `value`, a sequence longer than `max_time`.

    Example:
        >>> import numpy as np
        >>> from zoo.attention import MultiLinearAttention
        >>> attention = MultiLinearAttention(8, rank=4, max_time=16, num_cores=2)
        >>> tuple(attention(np.ones((2, 11, 8), "float32"), causal=True).shape)
        (2, 11, 8)

    Reference: https://arxiv.org/abs/1906.09777, equations 5 to 8.
    """

    def __init__(
        self, units: int, rank: int, max_time: int, num_cores: int = 2, mode: str = "split_concat", **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        sizes = {"units": units, "rank": rank, "max_time": max_time, "num_cores": num_cores}
        if not all(isinstance(size, int) and size > 0 for size in sizes.values()):
            raise ValueError(
                "MultiLinearAttention needs positive integers. Received: "
                f"{', '.join(f'{name}={size!r}' for name, size in sizes.items())}."
            )
        if mode not in MODES:
            raise ValueError(f"Unknown mode: expected one of {MODES}, received {mode!r}.")
        self.units, self.rank, self.max_time, self.num_cores, self.mode = units, rank, max_time, num_cores, mode
        for name in ("query", "key", "value"):
            dense = layers.Dense(rank, use_bias=False, name=name, dtype=self.dtype_policy)
            setattr(self, f"{name}_projection", dense)

    @property
    def traits(self):
        return Attention(causal=True, steps=True, longest=self.max_time)

    def build(self, query_shape, value_shape=None):
        build_parts([self.query_projection, self.key_projection, self.value_projection], query_shape)
        self.cores = self.add_weight(
            name="cores", shape=(self.num_cores, self.rank), initializer=initializers.RandomUniform(0.0, 1.0)
        )
        sides = (self.max_time,) if self.mode == "reconstruct" else (self.max_time, self.max_time)
        # Of the scale that a dense layer of as many inputs has, whatever the shape in which they are held.
        bound = (3.0 / math.prod(sides)) ** 0.5
        self.output_weights = self.add_weight(
            name="output", shape=(*sides, self.units), initializer=initializers.RandomUniform(-bound, bound)
        )

    @property
    def attention_parameters(self):
        """`3 query_units rank + num_cores rank`: what the paper counts, all but `W_O`."""
        return self.count_params() - math.prod(self.output_weights.shape)

    def core(self):
        """`(rank,)`: the mean of all cores, through which alone they have an effect."""
        cores = ops.cast(self.cores, "float32")
        return ops.cast(
            ops.mean(ops.exp(cores - ops.logsumexp(cores, axis=-1, keepdims=True)), axis=0), self.compute_dtype
        )

    def call(self, query, value=None, *, query_mask=None, value_mask=None, causal=False, cache=None, training=None):
        if value is not None:
            raise ValueError(
                f"{self.name} holds a tensor over one sequence's positions: expected value=None, received a value. For "
                "attention over a memory take MultiHeadAttention."
            )
        time = query.shape[1]
        if isinstance(time, int) and time > self.max_time:
            raise ValueError(
                f"{self.name} has output weights for {self.max_time} positions, received {time}. Cut the sequence, or "
                "make the layer with a larger max_time."
            )
        projected = self.project(query) if cache is None else cache
        mask = query_mask if value_mask is None else value_mask
        keys, values = projected["keys"][:, 0], projected["values"][:, 0]
        if mask is not None:
            kept = ops.cast(mask, keys.dtype)[:, :, None]
            keys, values = keys * kept, values * kept
        mix = self._reconstruct if self.mode == "reconstruct" else self._split_concat
        output = mix(self.query_projection(query), keys, values, causal)
        if query_mask is not None:
            output = ops.where(query_mask[:, :, None], output, 0.0)
        return output if cache is None else (output, cache)

    def _split_concat(self, query, keys, values, causal):
        time = ops.shape(query)[1]
        tensor = multi_linear(self.core(), query, keys, values)
        if causal:
            tensor = ops.where(triples_before(time), tensor, 0.0)
        weights = ops.reshape(self.output_weights[:time, :time], (time * time, self.units))
        return ops.matmul(ops.reshape(tensor, (ops.shape(query)[0], time, time * time)), weights)

    def _reconstruct(self, query, keys, values, causal):
        """`X_im = (q_i * g * sum_j k_j) . v_m`; if causal, `j` and `m` go up to `i`."""
        time = ops.shape(query)[1]
        keys, values, query = (wide(each) for each in (keys, values, query * self.core()))
        sums = ops.cumsum(keys, axis=1) if causal else ops.sum(keys, axis=1, keepdims=True)
        weights = ops.matmul(query * sums, ops.swapaxes(values, 1, 2))
        if causal:
            place = ops.arange(time, dtype="int32")
            weights = ops.where(place[None, :] <= place[:, None], weights, 0.0)
        mixed = ops.matmul(weights, wide(self.output_weights[:time]))
        return ops.cast(mixed, self.compute_dtype)

    def project(self, value):
        """`{"keys", "values"}` `(batch, 1, time, rank)`: of one head, as the pools of other attentions are."""
        return {"keys": self.key_projection(value)[:, None], "values": self.value_projection(value)[:, None]}

    def empty_cache(self, batch, entries):
        """A pool without content: what `project` would give for nothing."""
        zeros = ops.zeros((batch, 1, entries, self.rank), dtype=self.compute_dtype)
        return {"keys": zeros, "values": zeros}

    def step(self, x, cache, seen=None, write_index=None):
        """One new position a beam, `x (batch, beams, units)`; see `MultiHeadAttention.step`. `O(max_time^2 units)`.

        Keys and values are moved from their entries to the places that they have in the text of a beam, because the
        output weights belong to places.

        Returns: `(output, cache)`.
        """
        new = self.project(x)
        cache = append(cache, new["keys"], new["values"], write_index)
        if seen is None:
            seen = ops.ones((1, 1, ops.shape(cache["keys"])[2]), dtype="bool")
        entries = ops.where(seen, ops.cumsum(ops.cast(seen, "int32"), axis=-1) - 1, -1)  # the place of each entry
        places = ops.arange(self.max_time, dtype="int32")[:, None]
        moved = ops.cast(
            places == entries[:, :, None, :], self.compute_dtype
        )  # (batch | 1, beams | 1, places, entries)
        keys, values = (ops.matmul(moved, cache[name]) for name in ("keys", "values"))
        query = self.query_projection(x) * self.core()
        if self.mode == "reconstruct":
            query, keys, values = (wide(each) for each in (query, keys, values))
            weights = ops.einsum("bkr,bknr->bkn", query * ops.sum(keys, axis=2), values)
            mixed = ops.matmul(weights, wide(ops.convert_to_tensor(self.output_weights)))
            return ops.cast(mixed, self.compute_dtype), cache
        tensor = ops.matmul(query[:, :, None, :] * keys, ops.swapaxes(values, 2, 3))
        flat = ops.reshape(tensor, (*ops.shape(x)[:2], self.max_time**2))
        return ops.matmul(flat, ops.reshape(self.output_weights, (self.max_time**2, self.units))), cache

    def compute_output_shape(self, query_shape, value_shape=None):
        return (*query_shape[:2], self.units)
