"""What the slots of attention, feed-forward, block and depth may hold: a table a layer, which names class and slot."""

import math
from typing import Annotated

from msgspec import Meta

from zoo.settings.declared import one_of
from zoo.settings.slots import layer
from zoo.settings.table import Between, Count, Doc, Even, NotNegative, Positive, Several, Table


@layer("attention", "additive", "attention.alignment.AdditiveAttention")
class Additive:
    """`v tanh(W s + U h)`, Bahdanau et al. 2015."""


@layer("attention", "dot", "attention.alignment.DotProductAttention")
class Dot:
    """`s W h / sqrt(units)`, Luong et al. 2015."""

    hidden = ("scale",)


@layer("attention", "none")
class NoAttention:
    """The decoder reads the encoder's last state alone, Cho et al. 2014."""

    traits = {"aligns": True}


@layer("attention", "multi_head", "attention.multi_head.MultiHeadAttention")
class MultiHead:
    """Scaled dot products in several heads, Vaswani et al. 2017."""

    head_units: Positive | None


@layer("attention", "lsh", "attention.lsh.LSHAttention")
class Lsh:
    """Attention among positions of one hash bucket, Kitaev et al. 2020."""

    num_buckets: Even | list[Even]
    chunk_length: Positive
    rounds: Positive

    def check(self):
        _check_buckets(self.num_buckets)


def _check_buckets(num_buckets):
    factors = num_buckets if isinstance(num_buckets, list) else [num_buckets]
    if not factors or math.prod(factors) > 2**20:
        raise ValueError(
            f"num_buckets must be an even whole number, or a list of them whose product is at most {2**20}; "
            f"received {num_buckets!r}."
        )


@layer("attention", "multi_linear", "attention.tensorized.MultiLinearAttention")
class MultiLinear:
    """Attention by a sum of block-term tensors, Ma et al. 2019 (Tensorized Transformer)."""

    instead = {"max_time": "context"}
    rank: Positive = 32
    max_time: Positive | None = None
    num_cores: Positive
    mode: one_of("attention.tensorized.MODES")


@layer("attention", "adaptive_span", "attention.adaptive_span.AdaptiveSpanAttention")
class AdaptiveSpan:
    """Every head learns how far it looks back, Sukhbaatar et al. 2019."""

    only = {"initial_span": {"dynamic": (False,)}}
    max_span: Positive
    ramp: Several
    penalty: NotNegative
    window: Positive | None
    initial_span: Count

    def check(self):
        if max(self.window or 1, self.initial_span) > self.max_span:
            raise ValueError(
                f"adaptive_span needs a window and an initial_span of at most max_span; received window={self.window}, "
                f"initial_span={self.initial_span}, max_span={self.max_span}."
            )


@layer("attention", "relative", "attention.relative.RelativeAttention")
class Relative:
    """Scaled dot products with a bias for every distance, Raffel et al. 2020 (T5)."""

    num_buckets: Annotated[int, Meta(ge=4, multiple_of=2)]
    max_distance: Several
    use_bias: Annotated[bool, Doc("biases of the projections, those of attention over a source among them")]
    head_units: Positive | None

    def check(self):
        if self.max_distance <= self.num_buckets // 2:
            raise ValueError(
                "max_distance must be more than half of num_buckets; received "
                f"max_distance={self.max_distance} and num_buckets={self.num_buckets}."
            )


class Hashed(Table):
    """The blocks of a local attention that hash instead, as every second one of a Reformer does."""

    blocks: Annotated[list[Positive], Doc("numbers of the blocks that hash, from 1; empty: none")] = []
    num_buckets: Annotated[Even | list[Even], Doc("hash buckets, or the factors of their number")] = 16
    chunk_length: Annotated[Positive, Doc("positions of a chunk")] = 64
    before: Annotated[Count, Doc("chunks before its own that a position meets")] = 1
    after: Annotated[Count, Doc("chunks after its own that a position meets, where it may look ahead")] = 0
    rounds: Annotated[Positive, Doc("hashings whose results are mixed")] = 1

    def check(self):
        _check_buckets(self.num_buckets)


@layer("attention", "local", "attention.local.make_local_attention")
class Local:
    """Attention among neighbouring chunks, and in some blocks among hashed ones, as in Hugging Face's Reformer."""

    traits, hidden = {"skips": False}, ("block",)  # where blocks hash
    chunk_length: Positive
    before: Count
    after: Count
    head_units: Positive | None
    hashed: Annotated[Hashed, Doc("the blocks that hash")] = Hashed()


@layer("attention", "ssru", "attention.ssru.SSRU")
class Ssru:
    """A recurrence of element-wise gates, which keeps one vector of what was written, Kim et al. 2019."""


def head_units(attention):
    """The width of heads that the table of an attention gives; None where it gives none."""
    return attention.head_units if "head_units" in attention.__struct_fields__ else None


# Feed-forward


@layer("feedforward", "dense", "feedforward.dense.FeedForward")
class Dense:
    """Two dense layers, Vaswani et al. 2017."""


@layer("feedforward", "chunked", "feedforward.chunked.make_chunked_feedforward")
class Chunked:
    """Two dense layers, for a part of the positions at a time, which takes less memory."""

    chunks: Positive


@layer("feedforward", "product_key", "feedforward.product_key.ProductKeyMemory")
class ProductKey:
    """A large memory that is read by pairs of sub-keys, Lample et al. 2019."""

    num_keys: Positive
    k: Positive
    query_dim: Even
    query_norm: one_of("feedforward.product_key.NORMS")

    def check(self):
        if self.k > self.num_keys**2:
            raise ValueError(
                f"product_key needs k of at most num_keys^2; received k={self.k} and num_keys={self.num_keys}."
            )


@layer("feedforward", "gated", "feedforward.dense.GatedFeedForward")
class Gated:
    """A dense layer whose hidden units are multiplied by those of another, Shazeer 2020."""


# Blocks


class _Normed:
    norm: Annotated[one_of("core.norms.NORMS"), Doc("kind of the norms, also of the one behind the stack")]
    epsilon: Annotated[Between, Doc("what the norms add to the variance")]


@layer("block", "pre_norm", "blocks.residual.PreNorm")
class PreNorm(_Normed):
    """`x + f(norm(x))`, which deep stacks train with."""


@layer("block", "post_norm", "blocks.residual.PostNorm")
class PostNorm(_Normed):
    """`norm(x + f(x))`, Vaswani et al. 2017."""


@layer("block", "macaron", "blocks.macaron.Macaron")
class Macaron(_Normed):
    """Attention between two half feed-forward layers, Lu et al. 2019, which have `hidden_units` together."""


# Depth


@layer("depth", "stack", "depth.stack.Stack")
class Stack:
    """One block after the other."""


@layer("depth", "reversible", "depth.reversible.ReversibleStack")
class Reversible:
    """Blocks whose inputs are computed again from their outputs, Gomez et al. 2017, Kitaev et al. 2020."""

    activations: one_of("depth.reversible.ACTIVATIONS")
    joined: one_of("depth.reversible.JOINED")


@layer("depth", "universal", "depth.universal.make_repeated")
class Universal:
    """One block again and again, with adaptive computation time if asked for, Dehghani et al. 2019."""

    only = dict.fromkeys(("threshold", "ponder"), {"halting": ("accumulated", "interpolated")})
    only |= {"max_offset": {"places": (True,)}}
    one_block, hidden = True, ("offset_seed",)
    halting: one_of("depth.halting.CHOICES")
    threshold: Between
    ponder: NotNegative
    max_offset: Count


@layer("depth", "star", "depth.star.make_star_stack")
class Star:
    """Rings of neighbours and one relay node, Guo et al. 2019."""

    replaces, hidden = ("attention", "feedforward", "block", "pooling"), ("summary",)
    connections: one_of("blocks.star.CONNECTIONS")


LEARNED_EXITS = ("sequence", "multinomial", "geometric")  # the rules of exit that training teaches


@layer("depth", "depth_adaptive", "depth.adaptive.make_with_exits")
class DepthAdaptive:
    """Tokens leave the decoder at their own depth, Elbayad et al. 2020."""

    exit: one_of("depth.exits.EXITS")
    paths: Count
    tied: Annotated[bool, Doc("one output matrix for all depths")] = True

    def check(self):
        if self.paths and self.exit in LEARNED_EXITS:
            raise ValueError(
                "a rule of exit learns from the losses of all depths, and training by paths has those of the paths "
                f'alone. Expected paths = 0, or exit = "last"; received paths={self.paths}, exit={self.exit!r}.'
            )
