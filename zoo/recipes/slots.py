"""From what a recipe puts into a slot to the layer: each name of `SLOTS`, and the settings that it takes."""

import inspect

from zoo.attention import AdaptiveSpanAttention, LSHAttention, MultiHeadAttention, MultiLinearAttention
from zoo.depth import (
    ConfidenceExit,
    DepthAdaptiveStack,
    FixedExit,
    GeometricExit,
    Halting,
    MultinomialExit,
    ReversibleStack,
    SequenceExit,
    Stack,
    UniversalStack,
    make_star_stack,
)
from zoo.depth.settings import SEEDS_PER_BLOCK
from zoo.embeddings import AxialPositions, ConcatenatedPositions, ConvolutionalPositions, LearnedPositions
from zoo.feedforward import ChunkedFeedForward, FeedForward, ProductKeyMemory
from zoo.recipes.recipe import SLOTS, hint
from zoo.seeds import shifted


def multi_linear(units, context, rank=32, max_time=None, num_cores=2, mode="split_concat"):
    return MultiLinearAttention(units, rank, max_time or context, num_cores, mode)


def chunked(units, hidden_units, activation, chunks=2):
    return ChunkedFeedForward(FeedForward(units, hidden_units, activation), chunks)


def stack(make_block, num_layers):
    return Stack([make_block(index) for index in range(num_layers)])


def reversible(make_block, num_layers, activations="reversible"):
    return ReversibleStack([make_block(index) for index in range(num_layers)], activations)


def universal(make_block, num_layers, offset_seed, halting="none", threshold=0.99, ponder=0.01, max_offset=0):
    """`num_layers` steps of one block; `halting` is a rule of `Halting`, or "none" for all steps."""
    rule = None if halting == "none" else Halting(halting, threshold, ponder)
    return UniversalStack(make_block(0), num_layers, rule, max_offset, offset_seed)


EXITS = {
    "last": FixedExit,
    "sequence": SequenceExit,
    "multinomial": MultinomialExit,
    "geometric": GeometricExit,
    "confidence": ConfidenceExit,
}


def depth_adaptive(make_block, num_layers, seed, cross, exit="geometric", paths=0):
    """A decoder with exits, behind a plain encoder."""
    if not cross:
        return stack(make_block, num_layers)
    if exit not in EXITS:
        raise ValueError(f"depth.exit must be one of {', '.join(EXITS)}; received {exit!r}.")
    blocks = [make_block(index) for index in range(num_layers)]
    return DepthAdaptiveStack(blocks, EXITS[exit](num_layers), paths, shifted(seed, SEEDS_PER_BLOCK * num_layers))


def star(num_layers, units, num_heads, dropout, seed, model, connections="star"):
    return make_star_stack(num_layers, units, num_heads, model == "classifier", connections, dropout, seed)


def sinusoidal():
    """None: what models take by themselves, or nothing before a stack that has positions of its own."""


def learned(context, max_positions=None):
    return LearnedPositions(max_positions or context)


def axial(context, columns=64):
    return AxialPositions((-(-context // columns), columns))


def concatenated(max_positions=128, columns=32):
    return ConcatenatedPositions(max_positions, columns)


LAYERS = {
    "attention": {
        "multi_head": MultiHeadAttention,
        "lsh": LSHAttention,
        "adaptive_span": AdaptiveSpanAttention,
        "multi_linear": multi_linear,
    },
    "feedforward": {"dense": FeedForward, "chunked": chunked, "product_key": ProductKeyMemory},
    "depth": {
        "stack": stack,
        "reversible": reversible,
        "universal": universal,
        "star": star,
        "depth_adaptive": depth_adaptive,
    },
    "positions": {
        "sinusoidal": sinusoidal,
        "learned": learned,
        "convolutional": ConvolutionalPositions,
        "axial": axial,
        "concatenated": concatenated,
    },
}
SHARED = (
    "units num_heads hidden_units activation num_layers dropout context seed model".split()
)  # settings of the recipe
OF_THE_PLACE = ("make_block", "cross", "offset_seed")  # what the model says, not the recipe
# Settings that stand in a layer's table and are read by the model (`tied`) and the loss (`DepthAdaptiveLoss`).
READ_ELSEWHERE = {"depth_adaptive": ("tied", "judge", "price", "width", "alpha")}
IN_BLOCKS = ("attention", "feedforward")  # slots that "blocks" may restrict to some blocks


def check_slots(recipe):
    """Refuse a setting that a slot's layer does not take, before anything has been read or written.

    Raises:
        ValueError: it names the slot, the setting and the nearest one.
    """
    for slot in SLOTS:
        table = getattr(recipe, slot)
        allowed = _own_settings(slot, table["layer"])
        for name in table:
            if name != "layer" and name not in allowed:
                raise ValueError(
                    f"recipe {recipe.name!r}: {table['layer']!r}, its {slot}, has no setting {name!r}."
                    f"{hint(name, allowed)} It takes {', '.join(allowed) or 'none'}."
                )
        blocks = table.get("blocks", [])
        if not isinstance(blocks, list) or not all(one in range(1, recipe.num_layers + 1) for one in blocks):
            raise ValueError(
                f"recipe {recipe.name!r}: {slot}.blocks must list numbers from 1 to num_layers={recipe.num_layers}; "
                f"received {blocks!r}."
            )


def _parameters(maker):
    return [name for name, each in inspect.signature(maker).parameters.items() if each.kind != each.VAR_KEYWORD]


def _own_settings(slot, layer):
    """What a recipe may say about a layer: what the recipe as a whole does not say already."""
    if layer not in LAYERS[slot]:
        return []
    names = [name for name in _parameters(LAYERS[slot][layer]) if name not in (*SHARED, *OF_THE_PLACE)]
    names += READ_ELSEWHERE.get(layer, ())
    return names + ["blocks"] if slot in IN_BLOCKS else names


def make_layer(recipe, slot, block=None, **others):
    """The layer of a slot, of the recipe's settings; `others` go before them where the layer asks for them.

    `block` is the number of the block it is for: where the slot's table has "blocks" without it, the block gets the
    slot's default layer.
    """
    table = getattr(recipe, slot)
    if block is not None and block not in table.get("blocks", [block]):
        table = {"layer": SLOTS[slot][recipe.model][0]}
    maker = LAYERS[slot][table["layer"]]
    known = {name: getattr(recipe, name) for name in SHARED} | others
    shared = {name: known[name] for name in _parameters(maker) if name in known}
    elsewhere = ("layer", "blocks", *READ_ELSEWHERE.get(table["layer"], ()))
    own = {name: value for name, value in table.items() if name not in elsewhere}
    return maker(**shared | own)
