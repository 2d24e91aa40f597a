"""From what a recipe puts into a slot to the layer: the maker of each name of `zoo.recipes.layers.LAYERS`."""

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
from zoo.recipes.layers import default
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


MAKERS = {
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
SHARED = "units num_heads hidden_units activation num_layers dropout context seed model".split()  # of the recipe
OF_THE_PLACE = ("make_block", "cross", "offset_seed")  # what the model says, not the recipe
# Settings that stand in a layer's table and are read by the model (`tied`) and the loss (`DepthAdaptiveLoss`).
READ_ELSEWHERE = {"depth_adaptive": ("tied", "oracle", "price", "width", "alpha")}


def parameters(maker):
    """The names of what a maker takes."""
    return [name for name, each in inspect.signature(maker).parameters.items() if each.kind != each.VAR_KEYWORD]


def make_layer(recipe, slot, block=None, plain=False, **others):
    """The layer of a slot, of the recipe's settings; `others` go before them where the layer asks for them.

    `block` is the number of the block it is for: where the slot's table has "blocks" without it, the block gets the
    slot's default layer, and so does every block if `plain`.
    """
    table = getattr(recipe, slot)
    if plain or (block is not None and block not in table.get("blocks", [block])):
        table = {"layer": default(slot, recipe.model)}
    maker = MAKERS[slot][table["layer"]]
    known = {name: getattr(recipe, name) for name in SHARED} | others
    shared = {name: known[name] for name in parameters(maker) if name in known}
    elsewhere = ("layer", "blocks", *READ_ELSEWHERE.get(table["layer"], ()))
    own = {name: value for name, value in table.items() if name not in elsewhere}
    return maker(**shared | own)
