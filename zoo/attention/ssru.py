"""A recurrence in the place of a decoder's self-attention: what was written before is one vector, and not a list."""

from typing import Any

from keras import layers, ops

from zoo.core.masks import ImplicitMasks, wide
from zoo.core.protocols import Attention
from zoo.core.registry import build_parts, register
from zoo.core.tensors import scan


def recur(keep, new, reverse=False):
    """`c_t = keep_t c_(t-1) + new_t` from zeros on, or from the last to the first; all arrays begin with the time."""

    def one(before, given):
        after = given[0] * before + given[1]
        return after, after

    return scan(one, ops.zeros_like(new[0]), (keep, new), reverse)[1]


@ops.custom_gradient
def linear_recurrence(keep, new):
    """The same, whose gradient is such a recurrence, too, from the last step to the first.

    With `u_t` the gradient of `c_t` where it comes out, `d_t = u_t + keep_(t+1) d_(t+1)` is that of `new_t`, and
    `d_t c_(t-1)` is that of `keep_t`.
    """
    states = recur(*(ops.pad(each, ((1, 0), (0, 0), (0, 0))) for each in (keep, new)))  # for a text may be empty

    def gradient(*upstream, **_):
        later = ops.pad(keep[1:], ((0, 1), (0, 0), (0, 0)))
        of_new = recur(later, upstream[0], reverse=True)
        return of_new * states[:-1], of_new

    return states[1:], gradient


@register
class SSRU(ImplicitMasks, layers.Layer):
    """`h_t = relu(c_t)`, `c_t = f_t * c_(t-1) + (1 - f_t) * W x_t`, `f_t = sigmoid(W_f x_t + b_f)`, `c_(-1) = 0`.

    A Simpler Simple Recurrent Unit: no product reads a state, so those of all positions are made at once, and the
    loop over the time is element by element. It stands in the place of self-attention in a decoder; the block around
    it has the residual and the norm. The state of a writer is `c`, one vector for each beam, however long the text.

    Call arguments:
        query: `(batch, time, query_units)`.
        value: must be None.
        query_mask: `(batch, time)` bool; a masked position leaves the state as it is, and its output is 0. `mask` is
            another name for it, by which Keras hands over what an `Embedding(mask_zero=True)` has attached.
        value_mask: the positions that change the state, where they are others.
        causal: must be True.
        cache: `project(query)`; then the result is `(output, cache)`.

    Returns: `(batch, time, units)`. Cost: `O(time query_units units)` in time; two matrices of parameters and a bias.
    The states are float32 at least.

    Args:
        units: width of the output.

    Raises:
        ValueError: `units` is not a positive integer, a `value`, or a pass that is not causal.

    Example:
        >>> import numpy as np
        >>> from zoo.attention import SSRU
        >>> tuple(SSRU(8)(np.ones((2, 11, 8), "float32"), causal=True).shape)
        (2, 11, 8)

    Reference: https://aclanthology.org/D19-5632, section 3.1.
    """

    traits = Attention(causal=True, both_ways=False, steps=True, skips=True, recurs=True)

    def __init__(self, units: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if not isinstance(units, int) or units < 1:
            raise ValueError(f"SSRU needs a positive number of units. Received: units={units!r}.")
        self.units = units
        self.input_projection = layers.Dense(units, use_bias=False, name="input", dtype=self.dtype_policy)
        self.gate = layers.Dense(units, name="gate", dtype=self.dtype_policy)

    def build(self, query_shape, value_shape=None):
        build_parts([self.input_projection, self.gate], query_shape)

    def call(self, query, value=None, *, query_mask=None, value_mask=None, causal=False, cache=None, training=None):
        if value is not None or not causal:
            raise ValueError(
                f"{self.name} is a recurrence over one sequence, from its first position on: expected value=None and "
                f"causal=True, received {'a value' if value is not None else 'causal=False'}. For attention over a "
                "memory or in both directions take MultiHeadAttention."
            )
        mask = query_mask if value_mask is None else value_mask
        output = self._output(self._states(query, mask) if cache is None else cache["state"])
        if query_mask is not None:
            output = ops.where(query_mask[:, :, None], output, 0.0)
        return output if cache is None else (output, cache)

    def _output(self, states):
        return ops.cast(ops.relu(states), self.compute_dtype)

    def _gates(self, x):
        """`f` and `(1 - f) * W x`."""
        keep = ops.sigmoid(wide(self.gate(x)))
        return keep, (1.0 - keep) * wide(self.input_projection(x))

    def _states(self, x, mask=None):
        """`c` of every position, `(batch, time, units)`."""
        keep, new = self._gates(x)
        if mask is not None:
            keep, new = ops.where(mask[:, :, None], keep, 1.0), ops.where(mask[:, :, None], new, 0.0)
        states = linear_recurrence(*(ops.transpose(each, (1, 0, 2)) for each in (keep, new)))
        return ops.transpose(states, (1, 0, 2))

    def project(self, value):
        """`{"state"}` `(batch, time, units)`: the state behind each position of a prompt."""
        return {"state": self._states(value)}

    def empty_cache(self, batch, beams):
        """The state of each beam before anything was written."""
        return {"state": wide(ops.zeros((batch, beams, self.units), dtype=self.compute_dtype))}

    def append_to_cache(self, x, cache, seen=None, write_index=None):
        """The states behind one new position a beam, `x (batch, beams, units)`."""
        keep, new = self._gates(x)
        return {"state": keep * cache["state"] + new}

    def step(self, x, cache, seen=None, write_index=None):
        """`(output, cache)` of one new position a beam."""
        cache = self.append_to_cache(x, cache)
        return self._output(cache["state"]), cache

    def compute_output_shape(self, query_shape, value_shape=None):
        return (*query_shape[:2], self.units)
