"""One layer of a Transformer: attention, attention over a memory, feed-forward, each around the residual stream.

A block lists its *branches*; a wiring says how a branch and the stream meet. The same branches run over whole sequences
(`call`) and over one new position a beam (`step`); only what attends to what differs.
"""

from abc import ABC, abstractmethod
from functools import partial
from typing import Any

from keras import layers, ops

from zoo.core import protocols
from zoo.core.dropout import Dropout, shifted
from zoo.core.masks import ImplicitMasks
from zoo.core.norms import EPSILON, gain_of, make_norm
from zoo.core.registry import build_parts, register
from zoo.gradients.barrier import gradient_barrier


def add_branch(x, norm, branch):
    """`x + f(LN(x))`; of two streams (`zoo.depth.ReversibleStack`) `(a, b)` become `(b, a + f(LN(b)))`."""
    if isinstance(x, tuple):
        first, second = x
        return second, first + ops.cast(branch(norm(second)), first.dtype)
    return gradient_barrier(x + branch(norm(x)), gain_of(norm))


class Block(ImplicitMasks, layers.Layer, ABC):
    """What all wirings share. A subclass says how a branch joins the stream (`join`), another may add branches.

    Call arguments:
        x: `(batch, time, units)`.
        mask: `(batch, time)` bool, True = keep; Keras fills in the mask that is attached to `x`. A causal block's valid
            positions do not need it where padding stands behind them, because they never look there.
        memory: `(batch, memory_time, memory_units)`; only with a `cross_attention`.
        memory_mask: `(batch, memory_time)` bool.
        causal: position j sees only positions up to j.

    Returns: `(batch, time, units)`.
    """

    needs_final_norm = False  # as of `zoo.core.protocols.Block`
    parts: tuple[str, ...] = ("attention", "cross_attention", "feedforward")  # in the order in which they run
    scales: dict[str, float] = {}  # the factors of branches, 1 unless said otherwise

    def __init__(self, sublayers, dropout=0.0, seed=None, norm="layer", epsilon=EPSILON, **kwargs):
        super().__init__(**kwargs)
        self.dropout, self.seed, self.norm, self.epsilon = dropout, seed, norm, epsilon
        for name in self.parts:
            setattr(self, name, sublayers[name])
        self.present = [name for name in self.parts if sublayers[name] is not None]
        if self.cross_attention is not None and not protocols.Attention.of(self.cross_attention).crosses:
            raise ValueError(
                f"{type(self).__name__} needs a cross_attention that attends over a memory. Received: "
                f"{type(self.cross_attention).__name__}, which attends over its own positions alone; take "
                "MultiHeadAttention, or declare Attention(crosses=True) (zoo.core.protocols) where it does."
            )
        units = {name: sublayers[name].units for name in self.present}
        if len(set(units.values())) != 1:
            raise ValueError(
                f"{type(self).__name__} needs sub-layers of the same units, because they share a residual stream. "
                f"Received: {', '.join(f'{name}={width}' for name, width in units.items())}."
            )
        self.norms = [make_norm(norm, epsilon, name=f"{name}_norm", dtype=self.dtype_policy) for name in self.present]
        self.dropout_layers = [
            Dropout(dropout, seed=shifted(seed, index), name=f"{name}_drop", dtype=self.dtype_policy)
            for index, name in enumerate(self.present)
        ]

    def build(self, x_shape, memory_shape=None):
        if x_shape[-1] != self.units:
            raise ValueError(
                f"{type(self).__name__} {self.name!r} adds what its sub-layers give to what goes in, so both have one "
                f"width: expected (batch, time, {self.units}), as its sub-layers have. Received: {tuple(x_shape)}. "
                "Give the layer in front of it (an embedding, positions) the same units, or put a Dense between them."
            )
        for norm in self.norms:
            norm.build(tuple(x_shape))
        for name in self.present:
            shapes = (x_shape, memory_shape or x_shape) if name == "cross_attention" else (x_shape,)
            build_parts([getattr(self, name)], *shapes)

    @property
    def traits(self):
        """What the attentions can do, the block can."""
        own = protocols.Attention.of(self.attention)
        crosses = None if self.cross_attention is None else protocols.Attention.of(self.cross_attention)
        return protocols.Block(
            causal=own.causal,
            both_ways=own.both_ways,
            steps=own.steps and (crosses is None or crosses.steps),
            approximate=own.approximate,
            needs_final_norm=self.needs_final_norm,
            norm=self.norm,
            epsilon=self.epsilon,
            skips=own.skips,
            newest=own.newest,
            weighs=crosses is not None and crosses.weighs,
            recurs=own.recurs,
        )

    @property
    def units(self):
        return getattr(self, self.present[-1]).units

    @abstractmethod
    def join(self, x, norm, branch):
        """The stream after a branch."""

    def call(self, x, mask=None, memory=None, memory_mask=None, causal=False, training=None):
        self.check_memory(memory is not None)
        return self._run(x, self.functions(mask, memory, memory_mask, causal, training), training)

    def functions(self, mask=None, memory=None, memory_mask=None, causal=False, training=None):
        """The sub-layers that attend or look at the mask, as functions of their own input alone."""
        position_wise = {name: getattr(self, name) for name in self.present if "attention" not in name}
        masked = {name: each for name, each in position_wise.items() if protocols.FeedForward.of(each).uses_mask}
        return {
            **{name: partial(each, mask=mask, training=training) for name, each in masked.items()},
            "attention": lambda h: self.attention(h, value_mask=mask, causal=causal, training=training),
            "cross_attention": lambda h: self.cross_attention(h, memory, value_mask=memory_mask, training=training),
        }

    def branches(self, functions, training=None):
        """`(norm, h -> scale * Dropout(f(h)))` in order; an `f` that is not in `functions` is a position-wise layer."""
        return [
            (norm, partial(self._branch, name, functions.get(name), drop, training))
            for name, norm, drop in zip(self.present, self.norms, self.dropout_layers, strict=True)
        ]

    def _branch(self, name, function, drop, training, h):
        function = function or partial(getattr(self, name), training=training)
        h = drop(function(h), training=training)
        return h * self.scales[name] if name in self.scales else h

    def _run(self, x, functions, training=None):
        """The stream through every branch."""
        for norm, branch in self.branches(functions, training):
            x = self.join(x, norm, branch)
        return x

    def check_memory(self, given):
        """Whether a memory is given and whether the block looks at one must agree."""
        if given != (self.cross_attention is not None):
            raise ValueError(
                f"{type(self).__name__} {self.name!r} "
                + ("has no cross_attention but was given a memory. " if given else "needs a memory. ")
                + "Expected a memory exactly where the block was made with a cross_attention."
            )

    def remember(self, memory):
        """Cross-attention's keys and values of a memory: computed once per sentence."""
        return self.cross_attention.project(memory)

    def empty_cache(self, batch, entries):
        """A cache without content; of an attention that recurs, `entries` are the beams."""
        return self.attention.empty_cache(batch, entries)

    def prefill(self, x):
        """A causal pass over a prompt `(batch, time, units)`: the outputs, and its keys and values."""
        kept = {}

        def attend(h):
            kept["cache"] = self.attention.project(h)
            return self.attention(h, cache=kept["cache"], causal=True)[0]

        return self._run(x, {"attention": attend}), kept["cache"]

    def step(self, x, cache, seen=None, write_index=None, cross=None, cross_mask=None, weights=None):
        """One new position a beam, `x (batch, beams, units)`: `(output, cache)`. See `MultiHeadAttention.step`.

        Args:
            cross, cross_mask: what `remember` returned, and its mask `(batch, 1, memory_time)` bool.
            weights: a list, to which the weights over the memory `(batch, beams, memory_time)` are appended, or None.
        """
        kept = {}

        def attend(h):
            output, kept["cache"] = self.attention.step(h, cache, seen, write_index)
            return output

        def attend_memory(h):
            if weights is not None:
                weights.append(self.cross_attention.memory_weights(h, cross, cross_mask))
            return self.cross_attention.attend(h, cross, cross_mask)

        return self._run(x, {"attention": attend, "cross_attention": attend_memory}), kept["cache"]

    def skip(self, x, cache, seen=None, write_index=None):
        """The cache behind positions that pass the block by: their state `x` stays, and later ones may look at it."""
        kept = {}

        def append_to_cache(h):
            kept["cache"] = self.attention.append_to_cache(h, cache, seen, write_index)
            return h

        for name, (norm, branch) in zip(self.present, self.branches({"attention": append_to_cache}), strict=True):
            x = self.join(x, norm, branch)
            if name == "attention":
                return kept["cache"]

    def compute_output_shape(self, x_shape, memory_shape=None):
        return tuple(x_shape)


@register
class PostNorm(Block):
    """`x <- LN(x + Dropout(f(x)))` for f = attention, attention over the memory, feed-forward: the first Transformer.

    The gradient of the last layers does not shrink with the depth, so it wants a learning rate warm-up (Xiong et al.
    2020).

    Args:
        attention: an attention layer over the block's own positions.
        feedforward: a feed-forward layer.
        cross_attention: an attention layer over a memory; None in an encoder or a language model.
        dropout: on each branch, before it is added.
        seed: of the dropout.
        norm: kind of the norms, that of a stack among them: "layer", or "rms" (https://arxiv.org/abs/1910.07467).
        epsilon: what the norms add to the variance.

    Raises:
        ValueError: an unknown norm, the units of the sub-layers and of what goes in differ, or a memory is given where
            there is no cross_attention.

    Example:
        >>> import numpy as np
        >>> from zoo.blocks import PostNorm
        >>> from zoo.attention import MultiHeadAttention
        >>> from zoo.feedforward import FeedForward
        >>> block = PostNorm(MultiHeadAttention(8, 2), FeedForward(8, 32))
        >>> tuple(block(np.ones((2, 3, 8), "float32")).shape)
        (2, 3, 8)

    Reference: https://arxiv.org/abs/1706.03762, section 3.1.
    """

    def __init__(
        self,
        attention: Any,
        feedforward: Any,
        cross_attention: Any = None,
        dropout: float = 0.0,
        seed: int | None = None,
        norm: str = "layer",
        epsilon: float = EPSILON,
        **kwargs: Any,
    ) -> None:
        sublayers = {"attention": attention, "cross_attention": cross_attention, "feedforward": feedforward}
        super().__init__(sublayers, dropout, seed, norm, epsilon, **kwargs)

    def join(self, x, norm, branch):
        return norm(x + branch(x))


@register
class PreNorm(Block):
    """`x <- x + Dropout(f(LN(x)))` for f = attention, attention over the memory, feed-forward.

    The stream itself is never normalised, so a stack of these ends in one more norm (`zoo.depth.Stack` adds it: without
    it the outputs grow with the depth and training diverges). Trains without a warm-up.

    Args, errors: as of `PostNorm`.

    Example:
        >>> import numpy as np
        >>> from zoo.blocks import PreNorm
        >>> from zoo.attention import MultiHeadAttention
        >>> from zoo.feedforward import FeedForward
        >>> block = PreNorm(MultiHeadAttention(8, 2), FeedForward(8, 32), cross_attention=MultiHeadAttention(8, 2))
        >>> tuple(block(np.ones((2, 3, 8), "float32"), memory=np.ones((2, 5, 8), "float32"), causal=True).shape)
        (2, 3, 8)

    Reference: https://arxiv.org/abs/2002.04745, table 1.
    """

    needs_final_norm = True

    def __init__(
        self,
        attention: Any,
        feedforward: Any,
        cross_attention: Any = None,
        dropout: float = 0.0,
        seed: int | None = None,
        norm: str = "layer",
        epsilon: float = EPSILON,
        **kwargs: Any,
    ) -> None:
        sublayers = {"attention": attention, "cross_attention": cross_attention, "feedforward": feedforward}
        super().__init__(sublayers, dropout, seed, norm, epsilon, **kwargs)

    def join(self, x, norm, branch):
        return add_branch(x, norm, branch)
