"""The Star-Transformer: a ring of positions around one relay, for texts of any length at a linear cost."""

import math
from collections.abc import Sequence
from typing import Any

from keras import layers, ops

from zoo.attention import MultiHeadAttention
from zoo.blocks.star import StarBlock
from zoo.core.dropout import shifted
from zoo.core.masks import ImplicitMasks, masked_mean
from zoo.core.protocols import Depth
from zoo.core.registry import build_parts, register
from zoo.depth.stack import SEEDS_PER_BLOCK


@register
class StarStack(ImplicitMasks, layers.Layer):
    """`h_i = e_i`, `s = mean_i e_i`; then each `StarBlock` in turn; `y_i = h_i`, or with `summary` `y = s + max_i h_i`.

    Any two positions can exchange information in two steps. It is used like the `Stack` of an encoder: a `Tagger` reads
    the states `h`, a `Classifier` the summary. It looks in both directions, so it cannot write text.

    Call arguments:
        x: `e`, `(batch, time, units)`.
        mask: `(batch, time)` bool, True = keep; the valid positions of a row lie side by side, without a gap. Padding
            before or after them counts neither in the mean, nor in the ring, nor for the relay, nor in the maximum.
        summary: the whole text's vector instead of its positions'.

    Returns: `(batch, time, units)`, or `(batch, units)`, which is `s` alone for an empty row.

    Args:
        blocks: a list of `StarBlock`s of the same units.

    Raises:
        ValueError: no block, units that differ, or `causal`.

    Example:
        >>> import numpy as np
        >>> from zoo.depth import make_star_stack
        >>> stack = make_star_stack(2, units=8, num_heads=2)
        >>> x = np.ones((2, 3, 8), "float32")
        >>> tuple(stack(x).shape), tuple(stack(x, summary=True).shape)
        ((2, 3, 8), (2, 8))

    Reference: https://arxiv.org/abs/1902.09113, algorithm 1.
    """

    traits = Depth(summarises=True)

    def __init__(self, blocks: Sequence[Any], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        widths = {block.units for block in blocks}
        if len(widths) != 1:
            raise ValueError(
                "A StarStack needs at least one StarBlock, and blocks of the same units. "
                f"Received {len(blocks)} blocks with units {sorted(widths)}."
            )
        self.blocks = list(blocks)
        self.units = widths.pop()

    def build(self, x_shape):
        build_parts(self.blocks, x_shape)

    def call(self, x, mask=None, summary=False, causal=False, training=None):
        if causal:
            raise ValueError(
                "A StarStack cannot be causal: its relay has seen the whole text. Expected causal=False; "
                "for a decoder or a language model take a Stack."
            )
        states, relay = x, masked_mean(x, mask)[:, None]
        for block in self.blocks:
            states, relay = block(states, x, relay, mask=mask, training=training)
        return relay[:, 0] + self._maximum(states, mask) if summary else states

    @staticmethod
    def _maximum(states, mask):
        if mask is None:
            return ops.max(states, axis=1)
        highest = ops.max(ops.where(mask[:, :, None], states, -math.inf), axis=1)  # which float16 has, too
        return ops.where(ops.any(mask, axis=1)[:, None], highest, 0.0)

    def _set_mask_metadata(self, inputs, outputs, previous_mask):
        if len(outputs.shape) == 3:  # a summary has no time that a mask could be of
            super()._set_mask_metadata(inputs, outputs, previous_mask)


def make_star_stack(
    num_layers: int,
    units: int,
    num_heads: int,
    summary: bool = True,
    connections: str = "star",
    dropout: float = 0.0,
    seed: int | None = None,
) -> StarStack:
    """A `StarStack` of `StarBlock`s, each with attentions of its own.

    Args:
        num_layers: number of steps, the paper's T.
        units: width of positions and relay.
        num_heads: a divisor of `units`.
        summary: whether the last relay is read, as a `Classifier` does. False is for a `Tagger`: its last block does
            not update the relay, and so has no weights that nothing trains.
        connections: both kinds of connections ("star"), or one alone ("ring", "radical") for the ablation. A "ring"'s
            relay remains the mean.
        dropout: in each block.
        seed: of the dropout.

    Example:
        >>> import numpy as np
        >>> from zoo.depth import make_star_stack
        >>> from zoo.models import Classifier
        >>> model = Classifier(11, 3, make_star_stack(2, units=8, num_heads=2))
        >>> tuple(model({"token_ids": np.ones((2, 5), "int32"), "lengths": np.array([5, 3], "int32")}).shape)
        (2, 3)

    Reference: https://arxiv.org/abs/1902.09113.
    """

    def make_block(index):
        reads = connections != "ring" and (summary or index < num_layers - 1)
        relay = MultiHeadAttention(units, num_heads) if reads else None
        base = shifted(seed, SEEDS_PER_BLOCK * index)
        return StarBlock(MultiHeadAttention(units, num_heads), relay, connections, dropout, base)

    return StarStack([make_block(index) for index in range(num_layers)])
