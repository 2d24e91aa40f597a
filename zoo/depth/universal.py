"""The Universal Transformer: one block that is applied repeatedly, for each position as often as it needs."""

from dataclasses import replace
from functools import partial
from typing import Any

import keras
from keras import ops

from zoo.attention import MultiHeadAttention
from zoo.blocks import PostNorm
from zoo.core.dropout import shifted
from zoo.core.registry import build_parts, register
from zoo.depth import halting as act
from zoo.depth.stack import BlockSettings, Stack
from zoo.embeddings import SinusoidalPositions
from zoo.feedforward import FeedForward


@register
class UniversalStack(Stack):
    """`H^t = block(H^{t-1} + P^t)` for t = 1 .. `steps`, of one block; `y = H^steps`, or with `halting` a weighted
    mean.

    `P^t[i, 2j] = sin(i / 10000^(2j/d)) + sin(t / 10000^(2j/d))`, cosines in the odd channels, i and t from 1, is added
    in every step, so models give this stack embeddings without positions. With `halting` each position stops by
    one of two rules (`Halting`), and `y` is a weighted mean of its states. From then on its state is copied from step
    to step, as the paper's text says; in the paper's listing it goes on changing, and other positions see that.

    Training runs all `steps`. A pass without training stops as soon as all positions that the mask keeps have halted;
    decoding (`step`) runs all steps, because a later position may look at a step that this position does not take.

    Shapes: `(batch, time, units)` -> the same. Call arguments: as of a block.
    Cost: that of a stack of `steps` blocks, or fewer; the parameters of one.

    Args:
        block: a `PostNorm` (the paper's), `PreNorm`, `Macaron`, ...
        steps: how often it is applied; with `halting`, the largest number.
        halting: a `Halting`, or None.
        max_offset: in training the positions of each text begin at a random place from 1 to `max_offset + 1`, so that
            the model also learns places beyond the longest text.
        seed: of the offsets. Encoder and decoder with one seed draw the same offsets, so that their positions stay
            comparable, which copying needs; without a seed, each draws its own.
        places: whether `P^t` is added; without it a model adds positions before the stack, as ALBERT does.

    Raises:
        ValueError: `steps` is not a positive integer, a negative `max_offset`, or one without `places`.

    Example:
        >>> import numpy as np
        >>> from zoo.depth import Halting, make_universal_stack
        >>> stack = make_universal_stack(4, units=8, num_heads=2, hidden_units=16, halting=Halting())
        >>> outputs, thought = stack.ponder(np.ones((2, 3, 8), "float32"))
        >>> tuple(outputs.shape), tuple(thought["updates"].shape), 1 <= int(thought["steps"]) <= 4
        ((2, 3, 8), (2, 3), True)

    Reference: https://arxiv.org/abs/1807.03819.
    """

    def __init__(
        self,
        block: Any,
        steps: int,
        halting: Any = None,
        max_offset: int = 0,
        seed: int | None = None,
        places: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__([block], **kwargs)
        if not isinstance(steps, int) or steps < 1:
            raise ValueError(f"UniversalStack needs a positive number of steps. Received: steps={steps!r}.")
        if not isinstance(max_offset, int) or max_offset < 0:
            raise ValueError(f"UniversalStack needs a max_offset of at least 0. Received: max_offset={max_offset!r}.")
        if max_offset and not places:
            raise ValueError(
                f"UniversalStack moves the positions that it adds. Received: max_offset={max_offset}, places=False."
            )
        self.steps, self.halting, self.places = steps, halting, places
        self.max_offset, self.seed = max_offset, seed
        self.signal = SinusoidalPositions(name="signal", dtype=self.dtype_policy)
        self.generator = keras.random.SeedGenerator(seed) if max_offset else None

    def get_config(self):
        """As of the base, whose only block is `block` here."""
        return {name: value for name, value in super().get_config().items() if name != "blocks"}

    @property
    def traits(self):
        return replace(super().traits, places_itself=self.places, weighs=False)

    @property
    def block(self):
        return self.blocks[0]

    def build(self, x_shape, memory_shape=None):
        super().build(x_shape, memory_shape)
        self.signal.build(tuple(x_shape))
        build_parts([self.halting], x_shape)

    def call(self, x, mask=None, memory=None, memory_mask=None, causal=False, training=None):
        outputs, thought = self.ponder(x, mask, memory, memory_mask, causal, training)
        if training and self.halting is not None and self.halting.ponder:
            self.add_loss(self.halting.cost(thought, mask))
        return outputs

    def ponder(self, x, mask=None, memory=None, memory_mask=None, causal=False, training=None):
        """`(outputs, thought)`: what `call` returns, and how it came about.

        `thought` is a dict of `steps`, how often the block ran, and with halting of `updates` and `remainders`,
        `(batch, time)` float32: N and R of each position.
        """
        run = partial(self.block, mask=mask, memory=memory, memory_mask=memory_mask, causal=causal, training=training)
        places = ops.arange(ops.shape(x)[1], dtype="int32")[None, :] + self._offset(x, training)
        if self.halting is None or training:
            return self._think(x, places, lambda h, index: run(h), mask)
        return self._think_until_all_halted(x, places, run, mask)

    def _offset(self, x, training):
        if not (training and self.max_offset):
            return 0
        share = keras.random.uniform((ops.shape(x)[0], 1), seed=self.generator)
        return ops.cast(share * (self.max_offset + 1), "int32")

    def _places(self, places):
        """`(H^{t-1}, t - 1) -> H^{t-1} + P^t`, whose first part is computed once for all steps."""
        if not self.places:
            return lambda h, index: h
        signal = self.signal.at(places + 1, self.units)
        return lambda h, index: h + signal + self.signal.at(index + 1, self.units)

    def _think(self, x, places, run, mask=None):
        """All steps one after the other; `run(h, index)` is the block in step number `index`."""
        place = self._places(places)
        thinking = None if self.halting is None else self._begin(x, mask)
        for index in range(self.steps):
            h = place(x, index)
            made = run(h, index)
            if thinking is None:
                x = made
            else:
                x, thinking = self._weigh(x, h, made, thinking, index == self.steps - 1)
        if thinking is None:
            return self._finish(x), {"steps": self.steps}
        return self._conclude(x, *thinking, self.steps)

    def _think_until_all_halted(self, x, places, run, mask):
        """The same, in a loop that ends with the last position's last step."""
        place = self._places(places)

        def thinks(index, x, outputs, state):
            return ops.logical_and(index < self.steps, ops.any(state["running"]))

        def think(index, x, outputs, state):
            h = place(x, index)
            x, (outputs, state) = self._weigh(x, h, run(h), (outputs, state), index + 1 >= self.steps)
            return index + 1, x, outputs, state

        first = (ops.zeros((), dtype="int32"), x, *self._begin(x, mask))
        index, x, outputs, state = ops.while_loop(thinks, think, first, maximum_iterations=self.steps)
        return self._conclude(x, outputs, state, index)

    @staticmethod
    def _begin(x, mask):
        running = ops.ones_like(x[:, :, 0], dtype="bool") if mask is None else mask
        return ops.zeros_like(x, dtype="float32"), act.begin(running)

    def _weigh(self, x, h, made, thinking, final):
        """The states after a step, and `(outputs, state of halting)`."""
        outputs, state = thinking
        running = state["running"]
        weight, state = self.halting.advance(state, h, final)
        return ops.where(running[:, :, None], made, x), (self.halting.merge(outputs, made, weight), state)

    def _conclude(self, x, outputs, state, steps):
        return self._finish(ops.cast(outputs, x.dtype)), {**state, "steps": steps}

    def _visits(self):
        return self.blocks * self.steps

    def prefill(self, x):
        """Keys and values of each step for a prompt `(batch, time, units)`, as a causal pass finds them."""
        caches = []

        def run(h, index):
            made, cache = self.block.prefill(h)
            caches.append(cache)
            return made

        self._think(x, ops.arange(ops.shape(x)[1], dtype="int32")[None, :], run)
        return tuple(caches)

    def start(self, batch, beams=1, max_length=None, prompt=None):
        """The state before the first step, with one pool of keys and values for each of the `steps`: see `Stack`."""
        state = super().start(batch, beams, max_length, prompt)
        lengths = ops.zeros((batch,), "int32") if prompt is None else ops.sum(ops.cast(prompt[1], "int32"), axis=1)
        return {**state, "before": lengths}  # the place of the first token that is written

    def _advance(self, x, state, seen, write_index, cross, cross_mask, weights=None):
        caches, of_memory = [], None if cross is None else cross[0]

        def run(h, index):
            made, cache = self.block.step(h, state["caches"][index], seen, write_index, of_memory, cross_mask)
            caches.append(cache)
            return made

        outputs, _ = self._think(x, state["before"][:, None] + state["position"], run)
        return outputs, tuple(caches)


def make_universal_stack(
    steps: int,
    units: int,
    num_heads: int,
    hidden_units: int,
    halting: Any = None,
    *,
    max_offset: int = 0,
    places: bool = True,
    **settings: Any,
) -> UniversalStack:
    """A `UniversalStack` of one `PostNorm` block with multi-head attention and a dense feed-forward layer: the paper's.

    Args:
        steps: how often the block is applied; with `halting`, at most.
        units: width of the states.
        num_heads: heads of the attention.
        hidden_units: inner width of the feed-forward layer.
        halting: a `Halting`, or None for a fixed number of steps.
        places: whether every step adds them.
        max_offset: of random positions in training; give encoder and decoder the same seed with it.
        **settings: dropout, cross, activation, seed, norm, epsilon: see `zoo.depth.stack.BlockSettings`.

    Example:
        >>> from zoo.depth import make_universal_stack
        >>> from zoo.models import Transformer
        >>> stacks = [make_universal_stack(3, 8, num_heads=2, hidden_units=16, cross=cross) for cross in (False, True)]
        >>> model = Transformer(11, 13, *stacks)

    Reference: https://arxiv.org/abs/1807.03819.
    """
    chosen = BlockSettings.read(settings)
    block = PostNorm(
        MultiHeadAttention(units, num_heads),
        FeedForward(units, hidden_units, chosen.activation),
        **chosen.around(0, units, num_heads),
    )
    return UniversalStack(block, steps, halting, max_offset, shifted(chosen.seed, 9), places)


def make_repeated(
    blocks: Any,
    num_layers: int,
    halting: str = "none",
    threshold: float = 0.99,
    ponder: float = 0.01,
    max_offset: int = 0,
    places: bool = True,
    offset_seed: int | None = None,
) -> UniversalStack:
    """A `UniversalStack` of a block, with a rule of halting by its name.

    Args:
        blocks: a list of the block.
        num_layers: how often it is applied; with a rule, at most.
        halting: rule by which a position stops early.
        threshold: sum of halting probabilities at which a position stops.
        ponder: price of a step in the loss.
        max_offset: largest shift of the positions that training draws.
        places: every step adds sines of the place and of the step.
        offset_seed: of the offsets.
    """
    rule = None if halting == "none" else act.Halting(halting, threshold, ponder)
    return UniversalStack(blocks[0], num_layers, rule, max_offset, offset_seed, places)
