"""From what a recipe puts into a slot to the layer: the maker of each table of `zoo.settings.layers`."""

import inspect
import math

from msgspec import structs

from zoo.attention import (
    AdaptiveSpanAttention,
    LocalAttention,
    LSHAttention,
    MultiHeadAttention,
    MultiLinearAttention,
    RelativeAttention,
    RingLSHAttention,
)
from zoo.blocks import Macaron, PostNorm, PreNorm
from zoo.core.protocols import output_units
from zoo.core.seeds import shifted
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
from zoo.embeddings import (
    AxialPositions,
    ConcatenatedPositions,
    ConvolutionalPositions,
    LearnedPositions,
    NoPositions,
    SentenceEmbedding,
    SpelledEmbedding,
    TokenEmbedding,
)
from zoo.feedforward import ChunkedFeedForward, FeedForward, GatedFeedForward, ProductKeyMemory
from zoo.models.pooling import Pooling
from zoo.settings import entrance, layers, wiring


def multi_linear(units, context, rank=32, max_time=None, num_cores=2, mode="split_concat"):
    return MultiLinearAttention(units, rank, max_time or context, num_cores, mode)


def local(units, num_heads, block, chunk_length=64, before=1, after=0, head_units=None, hashed=layers.Hashed()):  # noqa: B008
    """The attention of the block of that number; a text is padded to a multiple of the chunks of all blocks."""
    chunks = (chunk_length, hashed.chunk_length) if hashed.blocks else (chunk_length,)
    own = {"head_units": head_units, "multiple": math.lcm(*chunks)}
    if block not in hashed.blocks:
        return LocalAttention(units, num_heads, chunk_length, (before, after), **own)
    looks, buckets = (hashed.before, hashed.after), hashed.num_buckets
    return RingLSHAttention(units, num_heads, buckets, hashed.chunk_length, hashed.rounds, looks=looks, **own)


def chunked(units, hidden_units, activation, chunks=2):
    return ChunkedFeedForward(FeedForward(units, hidden_units, activation), chunks)


def stack(make_block, num_layers):
    return Stack([make_block(index) for index in range(num_layers)])


def reversible(make_block, num_layers, activations="reversible", joined="sum"):
    return ReversibleStack([make_block(index) for index in range(num_layers)], activations, joined)


def universal(
    make_block, num_layers, offset_seed, halting="none", threshold=0.99, ponder=0.01, max_offset=0, places=True
):
    """`num_layers` steps of one block; `halting` is a rule of `Halting`, or "none" for all steps."""
    rule = None if halting == "none" else Halting(halting, threshold, ponder)
    return UniversalStack(make_block(0), num_layers, rule, max_offset, offset_seed, places)


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


def star(num_layers, units, num_heads, dropout, seed, summary, connections="star"):
    return make_star_stack(num_layers, units, num_heads, summary, connections, dropout, seed)


def sinusoidal():
    """None: what models take by themselves, or nothing before a stack that has positions of its own."""


def learned(context, max_positions=None):
    return LearnedPositions(max_positions or context)


def axial(context, columns=64, row_units=None):
    return AxialPositions((-(-context // columns), columns), row_units)


def concatenated(max_positions=128, columns=32):
    return ConcatenatedPositions(max_positions, columns)


def tokens(vocab_size, units, scaled=True, width=0):
    """None for the plain vectors that models take by themselves."""
    return TokenEmbedding(vocab_size, width or units, scaled) if width or not scaled else None


def tokens_and_output(vocab_size, units, behind, scaled=True, output="tied", output_bias=False):
    """Likewise, of models that write, whose output reads what the stack `behind` gives; None: it has no output."""
    if behind is None:
        return None if scaled else TokenEmbedding(vocab_size, units, scaled)
    read = output_units(behind)
    tied = output == "tied" and read == units
    plain = scaled and not output_bias and (output == "tied" or read != units)
    own = None if read == units else read
    return None if plain else TokenEmbedding(vocab_size, units, scaled, tied, output_bias, own)


def spelled(vocab_size, units, seed, alone=0.0, buckets=8192):
    return SpelledEmbedding(vocab_size, units, buckets=buckets, dropout=alone, seed=seed)


def sentences(vocab_size, units, shortest=2, spread=1.0):
    return SentenceEmbedding(vocab_size, units, shortest=shortest, spread=spread)


def mean(dense="none"):
    """None for the plain mean that models take by themselves."""
    return None if dense == "none" else Pooling("mean", dense)


def first(dense="none"):
    return Pooling("first", None if dense == "none" else dense)


MAKERS = {
    layers.MultiHead: MultiHeadAttention,
    layers.Lsh: LSHAttention,
    layers.AdaptiveSpan: AdaptiveSpanAttention,
    layers.MultiLinear: multi_linear,
    layers.Relative: RelativeAttention,
    layers.Local: local,
    layers.Dense: FeedForward,
    layers.Chunked: chunked,
    layers.Gated: GatedFeedForward,
    layers.ProductKey: ProductKeyMemory,
    wiring.PreNorm: PreNorm,
    wiring.PostNorm: PostNorm,
    wiring.Macaron: Macaron,
    layers.Stack: stack,
    layers.Reversible: reversible,
    layers.Universal: universal,
    layers.Star: star,
    layers.DepthAdaptive: depth_adaptive,
    entrance.Sinusoidal: sinusoidal,
    entrance.Learned: learned,
    entrance.Axial: axial,
    entrance.Convolutional: ConvolutionalPositions,
    entrance.Concatenated: concatenated,
    entrance.NoPositions: NoPositions,
    entrance.Tokens: tokens,
    entrance.WrittenTokens: tokens_and_output,
    entrance.Spelled: spelled,
    entrance.Sentences: sentences,
    entrance.Mean: mean,
    entrance.First: first,
}
# What the model or its place decides, and no setting of the layer's own.
OF_THE_PLACE = ("make_block", "cross", "offset_seed", "summary", "vocab_size", "behind", "seed", "block")


def parameters(maker):
    """The names of what a maker takes."""
    return [name for name, each in inspect.signature(maker).parameters.items() if each.kind != each.VAR_KEYWORD]


def make_layer(recipe, slot, block=None, plain=False, parts=None, **others):
    """The layer of a slot, of the recipe's settings; `others` go before the model's where the layer asks for them.

    `block` is the number of the block it is for: where the slot's table has `blocks` without it, the block gets the
    slot's default layer, and so does every block if `plain`. `parts` are layers that it is made of.
    """
    table = getattr(recipe, slot)
    if plain or (block is not None and block not in (table.blocks or [block])):
        table = recipe.choice.slots[slot][0]()
    maker = table.maker or MAKERS[type(table)]
    known = structs.asdict(recipe.model) | {"seed": recipe.training.seed, "block": block} | others
    shared = {name: known[name] for name in parameters(maker) if name in known}
    own = {name: value for name, value in structs.asdict(table).items() if name not in table.elsewhere}
    return maker(**shared | own | (parts or {}))
