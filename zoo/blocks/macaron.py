"""Macaron: attention between two half-steps of feed-forward."""

from typing import Any

from zoo.blocks.residual import Block, add_branch
from zoo.core.norms import EPSILON
from zoo.core.registry import register


@register
class Macaron(Block):
    """`x <- x + 1/2 f_1(LN(x))`; `x <- x + A(LN(x))`; (`x <- x + C(LN(x), memory)`;) `x <- x + 1/2 f_2(LN(x))`.

    Read as an ODE solver, attention and feed-forward alternate as in the Strang-Marchuk splitting, whose local error is
    of third order where that of the usual order (Lie-Trotter) is of second. `f_1` and `f_2` are two networks of their
    own, each of half the width of the baseline's, so that the number of parameters stays. The factor comes
    after the dropout and before the addition.

    Args:
        first: the feed-forward layer of the first half-step.
        attention: an attention layer.
        feedforward: the feed-forward layer of the second half-step.
        cross_attention: an attention layer over a memory, or None.
        dropout: on each branch.
        seed: of the dropout.
        norm, epsilon: as of `PostNorm`.

    Example:
        >>> import numpy as np
        >>> from zoo.blocks import Macaron
        >>> from zoo.attention import MultiHeadAttention
        >>> from zoo.feedforward import FeedForward
        >>> block = Macaron(FeedForward(8, 16), MultiHeadAttention(8, 2), FeedForward(8, 16))
        >>> tuple(block(np.ones((2, 3, 8), "float32")).shape)
        (2, 3, 8)

    Reference: https://arxiv.org/abs/1906.02762, equations 17-19; the wiring of the norms as in the authors' code.
    """

    needs_final_norm = True
    parts = ("first", "attention", "cross_attention", "feedforward")
    scales = {"first": 0.5, "feedforward": 0.5}

    def __init__(
        self,
        first: Any,
        attention: Any,
        feedforward: Any,
        cross_attention: Any = None,
        dropout: float = 0.0,
        seed: int | None = None,
        norm: str = "layer",
        epsilon: float = EPSILON,
        **kwargs: Any,
    ) -> None:
        sublayers = {"first": first, "attention": attention, "cross_attention": cross_attention}
        super().__init__({**sublayers, "feedforward": feedforward}, dropout, seed, norm, epsilon, **kwargs)

    def join(self, x, norm, branch):
        return add_branch(x, norm, branch)
