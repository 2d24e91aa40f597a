"""The depth-adaptive stack:

a token leaves after the block that is deep enough for it, and its state is copied upwards.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import keras
from keras import ops

from zoo.core.dropout import shifted
from zoo.core.protocols import Block, ExitRule
from zoo.core.registry import build_parts, register
from zoo.depth.exits import EXITS, FixedExit
from zoo.depth.stack import SEEDS_PER_BLOCK, Stack, make_stack


@register
class DepthAdaptiveStack(Stack):
    """`h^n = block_n(h^{n-1})` up to the depth at which a token leaves, `h^n = h^{n-1}` above; `y = LN_n(h^n)`.

    A block that a token skips still projects its own keys and values from the copied state (after its own norm),
    because tokens that go deeper attend to them. A block that all tokens have left is not run at all: in Keras, in the
    SavedModel and in ONNX it runs under a condition. In a pass over whole sequences this is the case when all tokens
    have left, in a decoding step when all sentences and beams have; the hypotheses of a sentence that is finished leave
    after the first block. Otherwise the block runs for all tokens, and those that have left keep their states.

    Where the blocks leave the stream without a norm (`PreNorm`), each depth has a norm of its own, the `LN_n`.

    Training sees all depths (`depths`), or paths drawn at random (`walk`): see `zoo.models.DepthAdaptiveTransformer`.
    `call` lets tokens leave, in training as well.

    Shapes: `(batch, time, units)` -> the same. Call arguments: as of a block. Cost: see `zoo.depth.flops`.

    Args:
        blocks: a list of `PostNorm`, `PreNorm`, `Macaron`, ... with `MultiHeadAttention`, of the same units.
        exit: the rule, `FixedExit`, `SequenceExit`, `MultinomialExit`, `GeometricExit` or `ConfidenceExit`; None is
            `FixedExit` at the last block.
        paths: M, how many paths a training step draws for each token ("mixed"); 0 trains all depths ("aligned").
        seed: of the paths.

    Raises:
        ValueError: a rule for another number of layers, another attention, or a learned rule together with `paths`.

    Example:
        >>> import numpy as np
        >>> from zoo.depth import make_depth_adaptive_stack
        >>> from zoo.depth import GeometricExit
        >>> stack = make_depth_adaptive_stack(4, 8, 2, hidden_units=16, exit=GeometricExit(4))
        >>> x, memory = np.ones((2, 3, 8), "float32"), np.ones((2, 5, 8), "float32")
        >>> outputs, thought = stack.think(x, memory=memory, causal=True)
        >>> tuple(outputs.shape), tuple(thought["exits"].shape), 1 <= int(thought["ran"]) <= 4
        ((2, 3, 8), (2, 3), True)

    Reference: https://openreview.net/forum?id=SJg7KhVKPH.
    """

    def __init__(
        self, blocks: Sequence[Any], exit: Any = None, paths: int = 0, seed: int | None = None, **kwargs: Any
    ) -> None:
        super().__init__(blocks, **kwargs)
        self.exit = FixedExit(len(self.blocks)) if exit is None else exit
        if self.exit.num_layers != len(self.blocks):
            raise ValueError(
                f"The rule of exit is for {self.exit.num_layers} layers and the stack has {len(self.blocks)} blocks. "
                f"Make it {type(self.exit).__name__}({len(self.blocks)}, ...)."
            )
        wrong = sorted({type(each.attention).__name__ for each in self.blocks if not Block.of(each).skips})
        if wrong:
            raise ValueError(
                f"DepthAdaptiveStack cannot pass by {wrong}: expected an attention whose keys and values can be noted "
                "without a look at them, MultiHeadAttention. Take that, or a Stack."
            )
        if not isinstance(paths, int) or paths < 0:
            raise ValueError(f"paths must be 0 (train all depths) or a number of paths. Received: paths={paths!r}.")
        if paths and self.rule.over:
            raise ValueError(
                f"{type(self.exit).__name__} learns from the losses of all depths, and mixed training (paths={paths}) "
                "has those of the paths alone. Train with paths=0, or train the paths first with FixedExit."
            )
        self.paths, self.seed = paths, seed
        self.generator = keras.random.SeedGenerator(shifted(seed, 0)) if paths else None
        self.norms = [None] * len(self.blocks)
        if self.final_norm is not None:
            before = [self._norm(f"norm_{index + 1}") for index in range(len(self.blocks) - 1)]
            self.norms = [*before, self.final_norm]

    @property
    def traits(self):
        return replace(super().traits, exits=True, weighs=False)

    @property
    def rule(self):
        """What the rule of exit says of itself."""
        return ExitRule.of(self.exit)

    def build(self, x_shape, memory_shape=None):
        super().build(x_shape, memory_shape)
        build_parts([*self.norms, self.exit], x_shape)

    def normed(self, index, x):
        """The input of the classifier of block `index`, computed from the output of the block."""
        return x if self.norms[index] is None else self.norms[index](x)

    def call(self, x, mask=None, memory=None, memory_mask=None, causal=False, training=None):
        return self.think(x, mask, memory, memory_mask, causal, training)[0]

    def depths(self, x, mask=None, memory=None, memory_mask=None, causal=False, training=None):
        """`(states, log q)`: the list of all N `LN_n(h^n)` without exits, and the rule's `log_chances`, or None."""
        masks, states = {"mask": mask, "memory": memory, "memory_mask": memory_mask, "causal": causal}, []
        for index, block in enumerate(self.blocks):
            x = block(x, training=training, **masks)
            states.append(self.normed(index, x))
        return states, self.exit.log_chances(states, memory, memory_mask)

    def walk(self, x, exits, mask=None, memory=None, memory_mask=None, causal=False, training=None):
        """The outputs where tokens leave at the depths `exits (batch, time)`; all blocks run, for their gradients."""
        masks = {"mask": mask, "memory": memory, "memory_mask": memory_mask, "causal": causal}
        outputs = x
        for index, block in enumerate(self.blocks):
            running = (exits > index)[:, :, None]
            x = ops.where(running, block(x, training=training, **masks), x)
            outputs = ops.where(running, self.normed(index, x), outputs)
        return outputs

    def draw_exits(self, batch, time):
        """Depths `(batch, time)`, uniform from 1 to N: one random path for each token."""
        return keras.random.randint((batch, time), 1, len(self.blocks) + 1, dtype="int32", seed=self.generator)

    def think(self, x, mask=None, memory=None, memory_mask=None, causal=False, training=None, plan=None, classify=None):
        """`(outputs, thought)`: what `call` returns, and how it came about.

        Args:
            plan: `(batch, 1)` depths that were chosen before; None lets the rule choose.
            classify: `(index, LN_n(h^n)) -> logits`, for a rule that reads logits.

        Returns: `thought` is a dict of `exits (batch, time)`, the depth at which each token left, `ran`, how many
        blocks were run, both int32, and the `logits` of that depth if the rule reads logits.
        """
        given = {"mask": mask, "memory": memory, "memory_mask": memory_mask, "causal": causal, "training": training}
        if plan is None and memory is not None:
            plan = self.exit.choose(memory, memory_mask)
        running = ops.ones_like(x[:, :, 0], dtype="bool") if mask is None else mask
        outputs, thought, _ = self._descend(
            x, running, lambda index, h: (self.blocks[index](h, **given), {}), lambda index, h: {}, plan, classify
        )
        return outputs, thought

    def start(self, batch, beams=1, max_length=None, prompt=None):
        """As of `Stack`, with `running (batch, beams)`:

        hypotheses of a finished sentence leave after the first block.
        """
        state = super().start(batch, beams, max_length, prompt)
        return {**state, "running": ops.ones((batch, beams), dtype="bool")}

    def think_step(self, x, state, cross=None, cross_mask=None, plan=None, classify=None):
        """`step` of one new position a beam: `(outputs, thought, state)`, see `think`."""
        following, seen, write_index = self._follow(state, ops.shape(x)[1])

        def run(index, h):
            of_memory = None if cross is None else cross[index]
            return self.blocks[index].step(h, state["caches"][index], seen, write_index, of_memory, cross_mask)

        def skip(index, h):
            return self.blocks[index].skip(h, state["caches"][index], seen, write_index)

        outputs, thought, caches = self._descend(x, state["running"], run, skip, plan, classify)
        return outputs, thought, {**following, "caches": caches}

    def _advance(self, x, state, seen, write_index, cross, cross_mask, weights=None):
        outputs, _, following = self.think_step(x, state, cross, cross_mask)
        return outputs, following["caches"]

    def _descend(self, x, running, run, skip, plan, classify):
        """`(outputs, thought, caches)`; `run(index, h) -> (made, cache)` is a block, `skip(index, h) -> cache` none."""
        if self.rule.over == "sequence" and plan is None:
            raise ValueError(
                f"{type(self.exit).__name__} chooses before decoding, from the encoder's states, and there is neither "
                "a memory nor a plan. Expected a stack with cross-attention; take another rule without."
            )
        if self.rule.reads_logits and classify is None:
            raise ValueError(
                f"{type(self.exit).__name__} reads the logits of each depth, which a stack does not compute: expected "
                "`classify`. Use the stack in a DepthAdaptiveTransformer."
            )
        made, cache = run(0, x)
        caches, thought = [cache], {"x": made, "ran": ops.ones((), "int32")}
        thought |= {"exits": ops.ones_like(made[:, :, 0], "int32"), "outputs": self.normed(0, made)}
        thought |= {"running": running, "plan": self._plan(thought["outputs"], plan)}
        if self.rule.reads_logits:
            thought["logits"] = classify(0, thought["outputs"])
        thought["running"] = self._remaining(0, thought, thought["outputs"], thought.get("logits"))
        for index in range(1, len(self.blocks)):
            thought, cache = ops.cond(
                ops.any(thought["running"]),
                partial(self._enter_block, index, thought, run, classify),
                partial(self._pass_by, index, thought, skip),
            )
            caches.append(cache)
        return thought.pop("outputs"), thought, tuple(caches)

    def _plan(self, state, plan):
        """Depths `(batch, time)` that are known after the first block; 0 where the rule looks at every block."""
        nothing = ops.zeros_like(state[:, :, 0], dtype="int32")
        if plan is not None:
            return nothing + plan
        plan = self.exit.plan(state)
        return nothing if plan is None else plan

    def _remaining(self, index, thought, state, logits):
        if index == len(self.blocks) - 1:
            return thought["running"]
        leaves = self.exit.leaves(index, state, logits, thought["plan"])
        return ops.logical_and(thought["running"], ops.logical_not(leaves))

    def _enter_block(self, index, thought, run, classify):
        running = thought["running"]
        here = running[:, :, None]
        made, cache = run(index, thought["x"])
        state = self.normed(index, made)
        following = {
            "x": ops.where(here, made, thought["x"]),
            "outputs": ops.where(here, state, thought["outputs"]),
            "exits": thought["exits"] + ops.cast(running, "int32"),
            "ran": thought["ran"] + 1,
            "plan": thought["plan"],
        }
        logits = None
        if self.rule.reads_logits:
            logits = classify(index, state)
            following["logits"] = ops.where(here, logits, thought["logits"])
        following["running"] = self._remaining(index, thought, state, logits)
        return following, cache

    @staticmethod
    def _pass_by(index, thought, skip):
        return thought, skip(index, thought["x"])


def make_depth_adaptive_stack(
    num_layers: int,
    units: int,
    num_heads: int,
    hidden_units: int,
    exit: Any = None,
    block: Any = "pre_norm",
    paths: int = 0,
    **settings: Any,
) -> DepthAdaptiveStack:
    """A decoder's `DepthAdaptiveStack` of blocks with multi-head attention, cross-attention and feed-forward layers.

    Args:
        num_layers: N, the number of blocks.
        units: width of the residual stream.
        num_heads: heads of each attention.
        hidden_units: inner width of the feed-forward layers.
        exit: the rule of exit, for N layers; None leaves behind the last one.
        block: "post_norm" (the paper's), "pre_norm" or "macaron".
        paths: of mixed training; 0 is aligned.
        **settings: dropout, activation, seed, norm, epsilon: see `zoo.depth.stack.BlockSettings`; `cross` is true.
    """
    made = make_stack(num_layers, units, num_heads, hidden_units, block, cross=True, **settings)
    return DepthAdaptiveStack(made.blocks, exit, paths, settings.get("seed"))


def make_with_exits(
    blocks: Any, exit: str = "geometric", paths: int = 0, seed: int | None = None
) -> DepthAdaptiveStack:
    """A `DepthAdaptiveStack` of blocks, with a rule of exit by its name.

    Args:
        blocks: a list of them.
        exit: rule by which a token leaves.
        paths: random depths at which training lets each token leave; 0 trains all depths at once.
        seed: of the blocks, which that of the paths follows.
    """
    return DepthAdaptiveStack(blocks, EXITS[exit](len(blocks)), paths, shifted(seed, SEEDS_PER_BLOCK * len(blocks)))
