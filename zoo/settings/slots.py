"""Which layers each kind of model may hold in its slots, the default first."""

from zoo.settings.entrance import (
    Axial,
    Concatenated,
    Convolutional,
    First,
    Learned,
    Mean,
    NoPositions,
    Sentences,
    Sinusoidal,
    Spelled,
    Tokens,
    WrittenTokens,
)
from zoo.settings.layers import (
    AdaptiveSpan,
    Additive,
    Chunked,
    Dense,
    DepthAdaptive,
    Dot,
    Gated,
    Local,
    Lsh,
    MultiHead,
    MultiLinear,
    NoAttention,
    ProductKey,
    Relative,
    Reversible,
    Stack,
    Star,
    Universal,
)
from zoo.settings.wiring import Macaron, PostNorm, PreNorm

RECURRENT = {"attention": (Additive, Dot, NoAttention)}
RECURRENT_READING = {"embedding": (Tokens, Spelled)}  # recurrence knows the order, so there are no positions
FEEDFORWARD = (Dense, Chunked, ProductKey, Gated)
BLOCK = (PreNorm, PostNorm, Macaron)
CAUSAL = {
    "attention": (MultiHead, Lsh, MultiLinear, AdaptiveSpan, Relative, Local),
    "feedforward": FEEDFORWARD,
    "block": BLOCK,
    "depth": (Stack, Reversible, Universal),
    "positions": (Sinusoidal, Learned, Axial, NoPositions),
    "embedding": (WrittenTokens,),
}
TRANSLATING = CAUSAL | {"depth": (Stack, Reversible, Universal, DepthAdaptive)}
READING = {
    "attention": (MultiHead, Lsh, MultiLinear, Relative, Local),
    "feedforward": FEEDFORWARD,
    "block": BLOCK,
    "depth": (Stack, Reversible, Universal, Star),
    "positions": (Sinusoidal, Convolutional, Concatenated, Learned, NoPositions, Axial),
    "embedding": (Tokens, Spelled, Sentences),
    "pooling": (Mean, First),
}
TAGGING = {slot: own for slot, own in READING.items() if slot != "pooling"} | {"embedding": (Tokens, Spelled)}
# What a layer of others must be able to do, by what the model does.
WRITES = {
    "attention": ("causal", "steps"),
    "block": ("causal", "steps"),
    "depth": ("causal", "steps"),
    "positions": ("by_place",),
    "embedding": ("writes",),
}
TRANSLATES = WRITES | {"attention": ("causal", "both_ways", "steps"), "block": ("causal", "both_ways", "steps")}
READS = {"attention": ("both_ways",), "block": ("both_ways",), "depth": ("both_ways",)}
SLOTS = ("attention", "feedforward", "block", "depth", "positions", "embedding", "pooling")
WHY_NOT = {  # why a model has no such layer, where the list of those that it has does not explain itself
    "adaptive_span": "adaptive spans look back over what was written, and this model reads in both directions",
    "depth_adaptive": "its exits belong to the decoder of a transformer",
    "star": "a star sees the whole text at once, so it can read and not write",
    "sentences": "a tagger labels words, and a sentence embedding gives one vector for many of them",
}
