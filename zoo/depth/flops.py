"""What a depth-adaptive decoder computes, by the paper's formula: two operations for each multiplication.

With `d` the decoder's and `e` the encoder's units, `f` the hidden units, a source of `|x|` tokens and the target's
token number `t`, from 1:

    a block that runs      FC = 12 d^2 + 4 f d + 4 t d + 4 |x| d  (+ 4 |x| d e, the source's keys and values, once)
    one that is passed by  FS = 4 d^2, keys and values of the copy
    a classifier           2 V d, for a vocabulary of V; not counted by the paper

Reference: https://openreview.net/forum?id=SJg7KhVKPH, section 4.3 and its appendix on FLOPs.
"""

import numpy as np

from zoo.core.protocols import FeedForward


def block_flops(units, hidden_units, position, source_length, encoder_units=None, first=False):
    """FC, of a block at the target's token number `position` (from 1); `first`: the block has not run before."""
    own = 12 * units**2 + 4 * hidden_units * units + 4 * (position + source_length) * units
    return own + first * 4 * source_length * units * (units if encoder_units is None else encoder_units)


def skipped_flops(units):
    """FS, of a block that is passed by."""
    return 4 * units**2


def hidden_units(blocks):
    """`f` of a stack's blocks: the hidden units of all feed-forward layers of a block together.

    Raises:
        ValueError: a position-wise layer without hidden units, such as a `ProductKeyMemory`, or blocks that differ.
    """
    widths = [
        [FeedForward.of(getattr(block, name)).hidden_units for name in block.present if "attention" not in name]
        for block in blocks
    ]
    for number, (block, own) in enumerate(zip(blocks, widths, strict=True), 1):
        if None in own or sum(own) != sum(widths[0]):
            layers = ", ".join(
                f"{type(getattr(block, name)).__name__} as {name}" for name in block.present if "attention" not in name
            )
            raise ValueError(
                "The paper's formula counts the operations of FeedForward layers, with the same hidden_units in every "
                f"block. Received: {layers} in block {number}, with hidden_units {own}."
            )
    return sum(widths[0])


def decoder_flops(exits, num_layers, units, hidden_units, source_length, encoder_units=None):
    """Of all blocks over one sentence.

    Args:
        exits: the depth at which each of its tokens leaves, from 1.
        num_layers: N; `exits` that are all N give the cost of a plain decoder.
        units, hidden_units, source_length, encoder_units: as of `block_flops`.

    Raises:
        ValueError: an exit that is not from 1 to N.
    """
    exits, total = np.asarray(exits, "int64"), 0
    if exits.size and not (1 <= exits.min() and exits.max() <= num_layers):
        raise ValueError(
            f"An exit must lie between 1 and num_layers={num_layers}. Received: {exits.min()} to {exits.max()}."
        )
    for layer in range(1, num_layers + 1):
        runs = np.flatnonzero(exits >= layer)
        for token in runs:
            total += block_flops(units, hidden_units, token + 1, source_length, encoder_units, token == runs[0])
        total += (len(exits) - len(runs)) * skipped_flops(units)
    return int(total)
