"""Attention to the past whose heads learn how far back they look; keys further back are never read.

Positions are cut into chunks as long as the window, so that a chunk looks at itself and at the one before, in time and
memory `O(time * window)`. Products over `(chunk, 2 chunk)` hold the band as a slanted strip. `straighten` turns it into
a rectangle whose columns are distances, and `slant` does the reverse. Both are a pad and a reshape.
"""

import math
from typing import Any

import keras
from keras import initializers, layers, ops

from zoo.attention.cache import append
from zoo.attention.chunks import chunked, windows
from zoo.attention.heads import Heads
from zoo.core.masks import ImplicitMasks
from zoo.core.protocols import Attention
from zoo.core.registry import build_parts, register
from zoo.gradients.means import mean_over


def straighten(strip):
    """`(..., c, 2c)` -> `(..., c, c)`: `band[i, y] = strip[i, i + y]`; the distance of column `y` is `c - y`."""
    *_, rows, columns = ops.shape(strip)
    flat = ops.reshape(strip, (-1, rows * columns))
    flat = ops.pad(flat, ((0, 0), (0, rows)))
    band = ops.reshape(flat, (-1, rows, columns + 1))[:, :, :rows]
    return ops.reshape(band, (*ops.shape(strip)[:-2], rows, rows))


def slant(band):
    """`(..., c, c)` -> `(..., c, 2c)`: `strip[i, i + y] = band[i, y]`, 0 elsewhere."""
    rows = ops.shape(band)[-1]
    flat = ops.reshape(band, (-1, rows, rows))
    flat = ops.reshape(ops.pad(flat, ((0, 0), (0, 0), (0, rows + 1))), (-1, rows * (2 * rows + 1)))
    strip = flat[:, : 2 * rows * rows]
    return ops.reshape(strip, (*ops.shape(band)[:-2], rows, 2 * rows))


def least(one, other):
    """The smaller of two sizes, of which either may be a tensor."""
    if isinstance(one, int) and isinstance(other, int):
        return min(one, other)
    return ops.minimum(one, other)


def most(one, other):
    """The larger of two sizes, of which either may be a tensor."""
    if isinstance(one, int) and isinstance(other, int):
        return max(one, other)
    return ops.maximum(one, other)


def soft_span(scores, span):
    """`span exp(scores) / sum(span exp(scores))` over the last axis, float32; all 0 where `span` is nowhere positive.

    Only scores within the span enter the maximum that is subtracted. So nothing overflows, and no gradient is NaN at
    the end of the span, where the logarithm of a mask would be -inf.
    """
    scores = ops.cast(scores, "float32")
    seen = span > 0
    scores = ops.where(seen, scores, -1e9)
    top = ops.stop_gradient(ops.max(scores, axis=-1, keepdims=True))
    weights = ops.where(seen, span * ops.exp(scores - top), 0.0)
    total = ops.sum(weights, axis=-1, keepdims=True)
    return weights / ops.where(total > 0, total, 1.0)


@register
class Fraction(keras.constraints.Constraint):
    """`min(max(w, 0), 1)`: keeps a span, as a part of the longest one, in its bounds after every update."""

    def __call__(self, w):
        return ops.clip(w, 0.0, 1.0)


@register
class AdaptiveSpanAttention(Heads, ImplicitMasks, layers.Layer):
    """`a_tr = m(t-r) exp(s_tr) / sum_q m(t-q) exp(s_tq)`, `s_tr = q_t . (k_r + p_(t-r)) / sqrt(d)`, `t - S <= r < t`.

    `m(x) = min(max((R + z - x) / R, 0), 1)` falls from 1 to 0 over the `R` positions beyond the head's learned span
    `z`. Each layer adds `penalty / num_heads * sum_i z_i` to the loss. A constraint keeps `z = S z'` in `[0, S]`;
    `z'` is the weight, and starts at 0. Position vectors `p` of the distances 1 .. S are shared by the heads. A
    position does not see itself, so the output of the first one is 0.

    Dynamic: `z_t = S sigmoid(v . x_t + b)` of each position, `b` starting at -4; its mean over positions is penalised.

    Keys and values further back than `window` are never read. `trim` sets it to the reach of the widest head, and it
    belongs to the config, so that what is exported after a `trim` is small. `zoo.training.SpanSteps`
    trims during training, where a new window is a new trace. The reach of a dynamic span is always `max_span`.

    Call arguments: as of `MultiHeadAttention`; `value` must be None and `causal` True. Masking: padding has the weight
    0 and never changes a valid position.

    Returns: `(batch, time, units)`. Cost: `O(time * window * units)` in time, `O(num_heads * time * window)` in memory.
    A growing cache (`step`) keeps the last `window + 1` entries of each beam; a static one has them all.

    Args:
        units: width of the output and of all heads together.
        num_heads: a divisor of `units`.
        max_span: longest span, in tokens, `S`.
        ramp: tokens over which a span fades out, `R`.
        penalty: price of a token of span in the loss; the paper's is 2e-6, and 0.5e-6 where S = 8192.
        dynamic: whether spans are computed for every token from its state.
        window: tokens that are looked back at most; without it `max_span`.
        initial_span: span before training, in tokens, 0 as in the paper. A span receives its gradient only through the
            keys on its ramp, so one that starts at 0 may never find useful keys far away; one that starts long shrinks
            to them.

    Raises:
        ValueError: sizes that do not fit, a `value`, or `causal=False`.

    Example:
        >>> import numpy as np
        >>> from zoo.attention import AdaptiveSpanAttention
        >>> attention = AdaptiveSpanAttention(8, num_heads=2, max_span=16, ramp=4)
        >>> tuple(attention(np.ones((2, 11, 8), "float32"), causal=True).shape)
        (2, 11, 8)

    Reference: https://arxiv.org/abs/1905.07799.
    """

    traits = Attention(causal=True, both_ways=False, steps=True, skips=True, newest=True, trims=True)

    def __init__(
        self,
        units: int,
        num_heads: int,
        max_span: int = 1024,
        ramp: int = 32,
        penalty: float = 2e-6,
        dynamic: bool = False,
        window: Any = None,
        initial_span: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        sizes = {"units": units, "num_heads": num_heads, "max_span": max_span, "ramp": ramp}
        whole = all(isinstance(size, int) and size > 0 for size in (*sizes.values(), window or 1))
        if not whole or units % num_heads or ramp < 2 or (window is not None and not 1 <= window <= max_span):
            raise ValueError(
                "AdaptiveSpanAttention needs positive integers, units that its heads divide evenly, a ramp of at least "
                "2 (a shorter one sees nothing at span 0) and a window of 1 to max_span. Received: "
                f"{', '.join(f'{name}={size!r}' for name, size in sizes.items())}, window={window!r}."
            )
        if not penalty >= 0:
            raise ValueError(f"AdaptiveSpanAttention needs a penalty of at least 0. Received: penalty={penalty!r}.")
        self.units, self.num_heads, self.max_span, self.ramp = units, num_heads, max_span, ramp
        self.penalty, self.dynamic, self.window = penalty, dynamic, window
        if not 0 <= initial_span <= max_span or (dynamic and initial_span):
            raise ValueError(
                "initial_span must be 0 to max_span, and 0 where spans are dynamic (they start at -4 before the "
                f"sigmoid). Received: initial_span={initial_span!r}, max_span={max_span!r}, dynamic={dynamic!r}."
            )
        self.initial_span = initial_span
        self.head_dim = units // num_heads
        for name in ("query", "key", "value", "output"):
            dense = layers.Dense(units, use_bias=False, name=name, dtype=self.dtype_policy)
            setattr(self, f"{name}_projection", dense)
        bias = initializers.Constant(-4.0)
        self.gate = layers.Dense(num_heads, bias_initializer=bias, name="gate", dtype="float32") if dynamic else None

    def build(self, query_shape, value_shape=None):
        build_parts([self.query_projection, self.key_projection, self.value_projection, self.gate], query_shape)
        self.output_projection.build((*query_shape[:-1], self.units))
        self.positions = self.add_weight(
            name="positions",
            shape=(self.max_span, self.head_dim),  # row x - 1: the distance x
            initializer=initializers.RandomNormal(stddev=self.head_dim**-0.5),
        )
        if not self.dynamic:
            self.fractions = self.add_weight(
                name="fractions",
                shape=(self.num_heads,),
                initializer=initializers.Constant(self.initial_span / self.max_span),
                constraint=Fraction(),
                dtype="float32",
                autocast=False,
            )

    def spans(self, x=None):
        """`z`: `(num_heads,)`; if dynamic, of each position of `x (batch, time, units)`: `(batch, time, num_heads)`."""
        if self.dynamic:
            return self.max_span * ops.sigmoid(self.gate(x))
        return self.max_span * ops.convert_to_tensor(self.fractions)

    @property
    def width(self):
        """How far back keys are read: `window`, or `max_span` where that is None."""
        return self.max_span if self.window is None else self.window

    @property
    def reach(self):
        """The largest distance with a positive weight, over all heads: what a trimmed layer must still read."""
        if self.dynamic:
            return self.max_span
        widest = float(ops.convert_to_numpy(ops.max(self.fractions))) * self.max_span
        return min(self.max_span, max(1, math.ceil(widest + self.ramp) - 1))

    def trim(self, multiple=1, slack=0):
        """Reduce the window to the reach plus `slack`, rounded up to `multiple`, and return it.

        Functions that were traced or compiled before keep the old window. Without slack the outputs stay the same, and
        spans cannot grow.
        """
        self.window = min(self.max_span, -(-(self.reach + slack) // multiple) * multiple)
        return self.window

    def call(self, query, value=None, *, query_mask=None, value_mask=None, causal=False, cache=None, training=None):
        if value is not None or not causal:
            raise ValueError(
                f"{self.name} looks back over one sequence: expected value=None and causal=True, received "
                f"{'a value' if value is not None else 'causal=False'}. For attention over a memory or in both "
                "directions take MultiHeadAttention."
            )
        held = self.project(query) if cache is None else cache
        mask = query_mask if value_mask is None else value_mask
        spans = self.spans(query)
        if training and self.penalty:
            self.add_loss(self.penalty * self._mean_span(spans, mask))
        output = self.silence(self.output_projection(self._look_back(query, held, spans, mask)), query_mask)
        return output if cache is None else (output, cache)

    def _mean_span(self, spans, mask):
        """Over the heads; and over the positions that count, if dynamic."""
        if not self.dynamic:
            return ops.mean(spans)
        return mean_over(ops.mean(spans, axis=-1), mask)

    def _look_back(self, query, held, spans, mask):
        """`(batch, time, units)`: all heads side by side, by chunks as long as the window."""
        time = ops.shape(query)[1]
        filled = most(time, 1)  # a prompt may be empty
        length = least(self.width, filled)
        extra = filled - time + (length - filled % length) % length
        room = ((0, 0), (0, 0), (0, extra), (0, 0))
        parts = self.split_heads(self.query_projection(query)) * self.head_dim**-0.5, held["keys"], held["values"]
        query, keys, values = (chunked(ops.pad(part, room), length) for part in parts)
        keys, values = windows(keys), windows(values)
        backwards = length - 1 - ops.arange(length, dtype="int32")  # torch has no slice with a negative step
        near = ops.cast(ops.take(self.positions, backwards, axis=0), query.dtype)  # column y: the distance length - y
        scores = straighten(ops.matmul(query, ops.swapaxes(keys, -1, -2))) + ops.matmul(query, ops.transpose(near))
        distance = length - ops.arange(length, dtype="int32")
        seen = self._seen(mask, ops.shape(held["keys"])[0], time, length, extra)
        weights = soft_span(
            scores, ops.where(seen, self._under(distance, self._chunked_spans(spans, length, extra)), 0.0)
        )
        mixed = ops.matmul(slant(ops.cast(weights, values.dtype)), values)
        mixed = ops.reshape(mixed, (*ops.shape(mixed)[:2], -1, self.head_dim))[:, :, :time]
        return self.join_heads(mixed)

    def _seen(self, mask, batch, time, length, extra):
        """`(batch, 1, chunks, length, length)` bool: whether there is a valid position at that distance."""
        mask = ops.ones((batch, time), "bool") if mask is None else mask
        mask = ops.cast(ops.pad(mask, ((0, 0), (0, extra)), constant_values=False), "float32")
        both = windows(chunked(mask[:, None, :, None], length))[..., 0]  # (batch, 1, chunks, 2 length)
        wide = ops.broadcast_to(both[:, :, :, None, :], (*ops.shape(both)[:3], length, 2 * length))
        return straighten(wide) > 0

    def _chunked_spans(self, spans, length, extra):
        """So that they meet distances: `(heads, 1, 1, 1)` or `(batch, heads, chunks, length, 1)`."""
        if not self.dynamic:
            return spans[:, None, None, None]
        spans = ops.transpose(ops.pad(spans, ((0, 0), (0, extra), (0, 0))), (0, 2, 1))
        return chunked(spans[..., None], length)

    def _under(self, distance, spans):
        """`m_z(x)`, in [0, 1]."""
        return ops.clip((self.ramp + spans - ops.cast(distance, "float32")) / self.ramp, 0.0, 1.0)

    def append_to_cache(self, x, cache, seen=None, write_index=None):
        """The cache of `step`, where nobody asks what the new positions see."""
        cache = append(cache, *self.project(x).values(), write_index)
        if write_index is not None:
            return cache
        return {name: leaf[:, :, -(self.width + 1) * ops.shape(x)[1] :] for name, leaf in cache.items()}

    def step(self, x, cache, seen=None, write_index=None):
        """One new position a beam, `x (batch, beams, units)`; see `MultiHeadAttention.step`.

        An entry's distance is the number of entries that the beam sees behind it. A growing cache is cut to the last
        `(window + 1) beams` entries: `seen` then is longer, and its end is the cache's. Prompts must end where the pool
        does (`zoo.attention.cache.align_right`; `Stack.start` sees to it).

        Returns: `(output, cache)`.
        """
        cache = self.append_to_cache(x, cache, seen, write_index)
        entries = ops.shape(cache["keys"])[2]
        if seen is None:
            distance = (entries - 1 - ops.arange(entries, dtype="int32"))[None, None, :]
            seen = ops.ones_like(distance, dtype="bool")
        else:
            counts = ops.cumsum(ops.cast(seen, "int32"), axis=-1)
            distance, seen = (counts[..., -1:] - counts)[..., -entries:], seen[..., -entries:]
        seen = ops.logical_and(seen, ops.logical_and(distance > 0, distance <= self.width))
        query = self.split_heads(self.query_projection(x)) * self.head_dim**-0.5
        places = ops.clip(distance - 1, 0, self.width - 1)  # (batch | 1, beams | 1, entries)
        near = ops.matmul(query, ops.transpose(ops.cast(self.positions[: self.width], query.dtype)))
        places = ops.broadcast_to(places[:, None], (*ops.shape(near)[:3], entries))
        scores = ops.matmul(query, ops.swapaxes(cache["keys"], -1, -2)) + ops.take_along_axis(near, places, axis=-1)
        spans = self.spans(x)
        spans = ops.transpose(spans, (0, 2, 1))[..., None] if self.dynamic else spans[:, None, None]
        weights = soft_span(scores, ops.where(seen[:, None], self._under(distance[:, None], spans), 0.0))
        mixed = self.join_heads(ops.matmul(ops.cast(weights, cache["values"].dtype), cache["values"]))
        return self.output_projection(mixed), cache
