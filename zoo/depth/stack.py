"""A stack of blocks, each applied once and in order, its state while it decodes, and how factories make its blocks."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from keras import layers, ops

from zoo.attention import MultiHeadAttention
from zoo.attention.cache import add_room, align_right, extend_seen, last_states
from zoo.blocks import Macaron, PostNorm, PreNorm
from zoo.core.dropout import shifted
from zoo.core.masks import ImplicitMasks
from zoo.core.norms import EPSILON, make_norm
from zoo.core.protocols import Block, Depth, output_units
from zoo.core.registry import build_parts, register
from zoo.core.tensors import gather_beams
from zoo.feedforward import FeedForward

SEEDS_PER_BLOCK = 10


@dataclass(frozen=True, kw_only=True)
class BlockSettings:
    """Keyword arguments of `make_stack`, `make_reformer_stack`, `make_universal_stack`, `make_depth_adaptive_stack`.

    Args:
        dropout: on each branch.
        cross: whether the blocks attend to a memory, as a decoder's do.
        activation: of the feed-forward layers.
        seed: of the dropouts, and of whatever else the stack draws.
        norm, epsilon: as of `zoo.blocks.PostNorm`.
    """

    dropout: float = 0.1
    cross: bool = False
    activation: str = "relu"
    seed: int | None = None
    norm: str = "layer"
    epsilon: float = EPSILON

    @classmethod
    def read(cls, given):
        """The settings of a factory's keyword arguments.

        Raises:
            TypeError: a setting that does not exist; the message names the nearest one.
        """
        names = [each.name for each in fields(cls)]
        for name in given:
            if name not in names:
                near = difflib.get_close_matches(name, names, 1)
                raise TypeError(
                    f"A stack's blocks have no setting {name!r}."
                    f"{f' Did you mean {near[0]!r}?' if near else ''} Expected one of {', '.join(names)}."
                )
        return cls(**given)

    def block_seed(self, index):
        return shifted(self.seed, SEEDS_PER_BLOCK * index)

    def around(self, index, units, num_heads):
        """What every block is given beside its attention and its feed-forward layers."""
        memory = MultiHeadAttention(units, num_heads) if self.cross else None
        own = {"dropout": self.dropout, "norm": self.norm, "epsilon": self.epsilon}
        return {"cross_attention": memory, "seed": self.block_seed(index), **own}


@register
class Stack(ImplicitMasks, layers.Layer):
    """`x_l = block_l(x_{l-1})`, `y = x_L`, or `y = LN(x_L)` where the blocks leave the stream without a norm.

    Decoding keeps a state (see `zoo.attention.cache`): `caches`, one pool of keys and values a block, or the states of
    its recurrence; `position`, how many steps were made; `seen (batch, beams, entries)`, which entries each beam's
    history holds; and in a static state `write_index`, the next one to write. `start` makes it, `step` advances it,
    `reorder` follows the beams' parents.

    Shapes: `(batch, time, units)` -> the same. Call arguments: as of a block.

    Args:
        blocks: a list of `PostNorm`, `PreNorm`, `Macaron`, ... of the same units.

    Raises:
        ValueError: no block, or units that differ.

    Example:
        >>> import numpy as np
        >>> from zoo.depth import make_stack
        >>> stack = make_stack(2, units=8, num_heads=2, hidden_units=32, block="pre_norm")
        >>> tuple(stack(np.ones((2, 3, 8), "float32")).shape)
        (2, 3, 8)

    References: https://arxiv.org/abs/1706.03762; the final norm: https://arxiv.org/abs/2002.04745, table 1.
    """

    def __init__(self, blocks: Sequence[Any], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        widths = {block.units for block in blocks}
        if len(widths) != 1:
            raise ValueError(
                "A Stack needs at least one block, and blocks of the same units, because they share a residual "
                f"stream. Received {len(blocks)} blocks with units {sorted(widths)}."
            )
        self.blocks = list(blocks)
        self.units = widths.pop()
        needed = Block.of(self.blocks[-1]).needs_final_norm
        self.final_norm = self._norm("final_norm") if needed else None

    def _norm(self, name):
        """A norm as the last block has them."""
        last = Block.of(self.blocks[-1])
        return make_norm(last.norm, last.epsilon, name=name, dtype=self.dtype_policy)

    @property
    def traits(self):
        blocks = [Block.of(block) for block in self.blocks]
        return Depth(
            causal=all(block.causal for block in blocks),
            both_ways=all(block.both_ways for block in blocks),
            steps=all(block.steps for block in blocks),
            approximate=any(block.approximate for block in blocks),
            weighs=blocks[-1].weighs,
        )

    def build(self, x_shape, memory_shape=None):
        build_parts(self.blocks, x_shape, memory_shape)
        if self.final_norm is not None:
            self.final_norm.build((*x_shape[:-1], output_units(self)))

    def call(self, x, mask=None, memory=None, memory_mask=None, causal=False, training=None):
        for block in self.blocks:
            x = block(x, mask=mask, memory=memory, memory_mask=memory_mask, causal=causal, training=training)
        return self._finish(x)

    def _enter(self, x):
        """What the first block is given: one stream."""
        return x

    def _visits(self):
        """The blocks in the order in which they run; each visit has a cache of its own."""
        return self.blocks

    def _finish(self, x):
        return x if self.final_norm is None else self.final_norm(x)

    def remember(self, memory):
        """Keys and values of each block's cross-attention, which are computed once for each sentence."""
        return tuple(block.remember(memory) for block in self.blocks)

    def prefill(self, x):
        """Keys and values of each block for a prompt `(batch, time, units)`, as a causal pass finds them."""
        self._check_steps()
        x, caches = self._enter(x), []
        for block in self.blocks:
            x, cache = block.prefill(x)
            caches.append(cache)
        return tuple(caches)

    def start(self, batch, beams=1, max_length=None, prompt=None):
        """The state before the first step.

        Args:
            batch: number of sentences.
            beams: hypotheses of each.
            max_length: number of steps for static caches (XLA); None for caches that grow.
            prompt: `(caches, mask (batch, time))` that the pool starts with, or None.
        """
        self._check_steps()
        nothing = 0 * batch  # dynamic where the batch is, so that TensorFlow lets the axis grow in a loop
        if prompt is None:
            caches = tuple(
                block.empty_cache(batch, beams if Block.of(block).recurs else nothing) for block in self._visits()
            )
            mask = ops.zeros((batch, nothing), dtype="bool")
        else:
            caches, mask = self._behind(*prompt, beams)
        seen = ops.broadcast_to(mask[:, None, :], (batch, beams, ops.shape(mask)[1]))
        state = {"position": ops.zeros((), dtype="int32"), "caches": caches}
        if max_length is None:
            unasked = all(self._recurs()) or (beams == 1 and prompt is None)
            return state if unasked else {**state, "seen": seen}
        room = beams * max_length
        return {
            **state,
            "caches": tuple(
                cache if recurs else add_room(cache, room) for cache, recurs in zip(caches, self._recurs(), strict=True)
            ),
            "seen": ops.pad(seen, ((0, 0), (0, 0), (0, room))),
            "write_index": ops.zeros((), dtype="int32") + ops.shape(mask)[1],
        }

    def _recurs(self):
        """For each cache, whether it is the state of a recurrence, and no pool."""
        return [Block.of(block).recurs for block in self._visits()]

    def _behind(self, caches, mask, beams):
        """The caches behind a prompt, and its mask `(batch, time)`."""
        newest = any(Block.of(block).newest for block in self.blocks)

        def behind(cache, recurs):
            if recurs:
                return last_states(cache, mask, beams)
            return align_right(cache, mask) if newest else cache

        moved = tuple(behind(*each) for each in zip(caches, self._recurs(), strict=True))
        return moved, ops.flip(mask, axis=1) if newest else mask

    def _check_steps(self):
        wrong = sorted({str(block.name) for block in self.blocks if not Block.of(block).steps})
        if wrong:
            raise ValueError(
                f"{type(self).__name__} {self.name!r} cannot write one position after the other, because these blocks "
                f"have no cache: {wrong}. Expected blocks whose attentions declare Attention(steps=True) "
                "(zoo.core.protocols), such as those with MultiHeadAttention."
            )

    def step(self, x, state, cross=None, cross_mask=None, weights=None):
        """One new position a beam, `x (batch, beams, units)`: `(outputs, state)`.

        To `weights`, a list, those of the last block over the memory are appended, `(batch, beams, memory_time)`.
        """
        following, seen, write_index = self._follow(state, ops.shape(x)[1], cross_mask)
        x, caches = self._advance(x, state, seen, write_index, cross, cross_mask, weights)
        return x, {**following, "caches": caches}

    @staticmethod
    def _follow(state, beams, memory_mask=None):
        """The state after a step without its caches, which entries the step sees, and where it writes."""
        write_index, seen = state.get("write_index"), state.get("seen")
        following = {**state, "position": state["position"] + 1}
        if seen is not None:
            seen = following["seen"] = extend_seen(seen, beams, write_index, memory_mask)
        if write_index is not None:
            following["write_index"] = write_index + beams
        return following, seen, write_index

    def _advance(self, x, state, seen, write_index, cross, cross_mask, weights=None):
        """The outputs and the caches of one step."""
        x, caches = self._enter(x), []
        for index, block in enumerate(self.blocks):
            of_memory = None if cross is None else cross[index]
            is_last = index == len(self.blocks) - 1
            more = {"weights": weights} if weights is not None and is_last else {}
            x, cache = block.step(x, state["caches"][index], seen, write_index, of_memory, cross_mask, **more)
            caches.append(cache)
        return self._finish(x), tuple(caches)

    def reorder(self, state, parents):
        """The state whose beam `k` goes on from beam `parents[:, k]`.

        A pool stays, and what is seen of it moves; the state of a recurrence moves itself.
        """
        moved = {"seen": gather_beams(state["seen"], parents)} if "seen" in state else {}
        if any(self._recurs()):
            moved["caches"] = tuple(
                gather_beams(cache, parents) if recurs else cache
                for cache, recurs in zip(state["caches"], self._recurs(), strict=True)
            )
        return {**state, **moved}

    def compute_output_shape(self, x_shape, memory_shape=None):
        return tuple(x_shape)


BLOCKS = {"post_norm": PostNorm, "pre_norm": PreNorm, "macaron": Macaron}


def make_stack(
    num_layers: int, units: int, num_heads: int, hidden_units: int, block: Any = "pre_norm", **settings: Any
) -> Stack:
    """A `Stack` of multi-head attention and dense feed-forward layers, the Transformers of the papers.

    Args:
        num_layers: number of blocks.
        units: width of the residual stream.
        num_heads: heads of each attention.
        hidden_units: inner width of the feed-forward layers; Macaron's two have half of it each, so that the number
            of parameters stays the same.
        block: "post_norm", "pre_norm" or "macaron".
        **settings: dropout, cross, activation, seed, norm, epsilon: see `zoo.depth.stack.BlockSettings`.

    Raises:
        ValueError: an unknown block, or an odd `hidden_units` for "macaron".
        TypeError: a setting that does not exist.
    """
    if block not in BLOCKS:
        raise ValueError(f"Unknown block: expected one of {list(BLOCKS)}, received {block!r}.")
    if block == "macaron" and hidden_units % 2:
        raise ValueError(f"Macaron halves hidden_units, so they must be even. Received: {hidden_units}.")

    settings = BlockSettings.read(settings)

    def make_block(index):
        inner = hidden_units // 2 if block == "macaron" else hidden_units
        parts = {
            "attention": MultiHeadAttention(units, num_heads),
            "feedforward": FeedForward(units, inner, settings.activation),
            **settings.around(index, units, num_heads),
        }
        if block == "macaron":
            parts["first"] = FeedForward(units, inner, settings.activation)
        return BLOCKS[block](**parts)

    return Stack([make_block(index) for index in range(num_layers)])
