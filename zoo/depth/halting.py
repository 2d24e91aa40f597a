"""Adaptive computation time: each position decides how many steps it takes, and how much each step counts."""

from typing import Any

from keras import KerasTensor, initializers, layers, ops

from zoo.core.registry import build_parts, register
from zoo.gradients.means import mean_over

CHOICES = ("none", "accumulated", "interpolated")
RULES = CHOICES[1:]


def begin(running):
    """The state before the first step; `running (batch, time)` bool: which positions take steps at all."""
    zeros = ops.zeros_like(ops.cast(running, "float32"))
    return {"running": running, "probability": zeros, "remainders": zeros, "updates": zeros}


def advance(state, probability, threshold, final):
    """`(weight, state)` of one step, all `(batch, time)`, float32.

    `w = p` while the sum of the `p` stays at or below the threshold; `w = R`, what is missing to 1, in the step that
    crosses it or where `final`; then 0. `updates` counts the steps up to and including that one.
    """
    running, before = state["running"], state["probability"]
    total = before + probability
    halts = ops.logical_and(running, ops.logical_or(total > threshold, final))
    goes_on = ops.logical_and(running, ops.logical_not(halts))
    remainder = 1.0 - before
    weight = ops.where(halts, remainder, ops.where(goes_on, probability, 0.0))
    return weight, {
        "running": goes_on,
        "probability": ops.where(goes_on, total, before),
        "remainders": ops.where(halts, remainder, state["remainders"]),
        "updates": state["updates"] + ops.cast(running, "float32"),
    }


@register
class Halting(layers.Layer):
    """`p_t = sigmoid(w h_t + b)` of the state that enters step t; a position halts in the step in which their
    sum exceeds `threshold`; that step's weight is `w_t = R = 1 - (the sum before)`, an earlier one's is `w_t = p_t`.

    * "accumulated", Graves' rule: `y = sum_t w_t s_t`. The weights sum to 1: the last step allowed takes the remainder.
    * "interpolated", the listing of the Universal Transformer's paper: `y <- w_t s_t + (1 - w_t) y`, from `y = 0`. The
      weights sum to less than 1 (of `p = .6, .6` to .76), and a position that never crosses the threshold has no
      remainder.

    `s_t` is what step t makes of `h_t`. Both add the ponder cost `ponder * mean(N + R)` to a training step's loss, `N`
    being the steps taken; its gradient is that of R.

    Args:
        rule: "accumulated" or "interpolated".
        threshold: 1 - epsilon.
        ponder: factor of the cost of a step; 0 is no cost.

    Call arguments: `h (batch, time, units)`. Returns: `p (batch, time)`, float32.

    Raises:
        ValueError: an unknown rule, a threshold that is not between 0 and 1, or a negative `ponder`.

    Example:
        >>> import numpy as np
        >>> from zoo.depth import Halting
        >>> tuple(Halting()(np.ones((2, 3, 8), "float32")).shape)
        (2, 3)

    References: https://arxiv.org/abs/1603.08983, equations 6-13; https://arxiv.org/abs/1807.03819, appendix C.
    """

    def __init__(self, rule: str = "accumulated", threshold: float = 0.99, ponder: float = 0.01, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if rule not in RULES:
            raise ValueError(f"Unknown rule: expected one of {RULES}, received {rule!r}.")
        if not 0 < threshold < 1:
            raise ValueError(f"Halting needs a threshold between 0 and 1, such as 0.99. Received: {threshold!r}.")
        if not ponder >= 0:
            raise ValueError(f"Halting needs a ponder cost of at least 0. Received: {ponder!r}.")
        self.rule, self.threshold, self.ponder = rule, threshold, ponder
        # At first p is .73: nearly all halt in their second step.
        bias = initializers.Ones()
        self.dense = layers.Dense(1, bias_initializer=bias, name="probability", dtype=self.dtype_policy)

    def build(self, h_shape):
        build_parts([self.dense], h_shape)

    def compute_output_spec(self, h):
        return KerasTensor(self.compute_output_shape(h.shape), "float32")  # whatever the dtype of h

    def call(self, h):
        scores = ops.reshape(self.dense(h), ops.shape(h)[:-1])  # a slice needs a rank, which a graph may not know
        return ops.sigmoid(ops.cast(scores, "float32"))

    def advance(self, state, h, final):
        """`(weight, state)`: see `advance`; `final` says whether no step follows."""
        final = final if self.rule == "accumulated" else False
        return advance(state, self(h), self.threshold, final)

    def merge(self, outputs, made, weight):
        """The outputs, float32, after a step whose result is `made`."""
        weight = ops.reshape(weight, (*ops.shape(made)[:-1], 1))
        made = ops.cast(made, "float32")
        kept = outputs if self.rule == "accumulated" else outputs * (1.0 - weight)
        return kept + weight * made

    def cost(self, state, mask=None):
        """`ponder * mean(N + R)` over the positions that the mask keeps."""
        return self.ponder * mean_over(state["updates"] + state["remainders"], mask)

    def compute_output_shape(self, h_shape):
        return tuple(h_shape[:-1])
