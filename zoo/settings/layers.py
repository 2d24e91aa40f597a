"""What the slots of a recipe may hold: a table for each layer, with the settings of its own.

`zoo.tasks.parts.slots` makes the layers. A test compares the settings here with what the constructors take.
"""

import math
from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from zoo.settings.kinds import (
    Between,
    Count,
    Doc,
    Even,
    NotNegative,
    Positive,
    at_least,
)
from zoo.settings.table import Table


class Layer(Table, tag_field="layer"):
    """One layer that a slot may hold.

    Attributes:
        takes: settings of the model that reach it.
        instead: own settings that replace one that it takes, as `{"max_time": "context"}`.
        maker: the class of a layer of others; None for the zoo's own, which `zoo.tasks.parts.slots` makes.
        replaces: slots that it leaves no place for.
        elsewhere: own settings that the model reads, and not the layer.
    """

    takes: ClassVar[tuple[str, ...]] = ()
    instead: ClassVar[dict[str, str]] = {}
    maker: ClassVar[type | None] = None
    replaces: ClassVar[tuple[str, ...]] = ()
    elsewhere: ClassVar[tuple[str, ...]] = ("blocks", "norm_epsilon", "projected")

    @property
    def layer(self):
        """The name of the layer."""
        return self.tag


Blocks = Annotated[list[Positive] | None, Doc("numbers of the blocks that have it, from 1; without it all")]


Buckets = Annotated[int, Meta(ge=4, multiple_of=2)]
HeadUnits = Annotated[Positive | None, Doc("width of a head; without it model.units / model.num_heads")]


# Attention


class Additive(Layer, tag="additive"):
    """`v tanh(W s + U h)`, Bahdanau et al. 2015."""

    takes = ("units",)


class Dot(Layer, tag="dot"):
    """`s W h / sqrt(units)`, Luong et al. 2015."""

    takes = ("units",)


class NoAttention(Layer, tag="none"):
    """The decoder reads the encoder's last state alone, Cho et al. 2014."""


class MultiHead(Layer, tag="multi_head"):
    """Scaled dot products in several heads, Vaswani et al. 2017."""

    takes = ("units", "num_heads", "dropout", "seed")
    use_bias: Annotated[bool, Doc("biases of the four projections")] = True
    head_units: HeadUnits = None
    blocks: Blocks = None


class Relative(Layer, tag="relative"):
    """Scaled dot products with a bias for every distance, Raffel et al. 2020 (T5)."""

    takes = ("units", "num_heads", "dropout", "seed")
    num_buckets: Annotated[Buckets, Doc("biases of a head, each for a range of distances")] = 32
    max_distance: Annotated[at_least(2), Doc("distance from which on all have one bias")] = 128
    use_bias: Annotated[bool, Doc("biases of the projections, those of attention over a source among them")] = False
    head_units: HeadUnits = None
    blocks: Blocks = None

    def check(self):
        if self.max_distance <= self.num_buckets // 2:
            raise ValueError(
                "max_distance must be more than half of num_buckets; received "
                f"max_distance={self.max_distance} and num_buckets={self.num_buckets}."
            )


class Lsh(Layer, tag="lsh"):
    """Attention among positions of one hash bucket, Kitaev et al. 2020."""

    takes = ("units", "num_heads", "seed")
    num_buckets: Annotated[Even | list[Even], Doc("hash buckets, or the factors of their number")] = 16
    chunk_length: Annotated[Positive, Doc("positions of a chunk that attends to itself and the one before")] = 64
    rounds: Annotated[Positive, Doc("hashings whose results are mixed")] = 2
    use_bias: Annotated[bool, Doc("biases of the projections")] = False
    resample: Annotated[bool, Doc("draw new hashes at every step of training")] = False
    blocks: Blocks = None

    def check(self):
        _check_buckets(self.num_buckets)


def _check_buckets(num_buckets):
    factors = num_buckets if isinstance(num_buckets, list) else [num_buckets]
    if not factors or math.prod(factors) > 2**20:
        raise ValueError(
            f"num_buckets must be an even whole number, or a list of them whose product is at most {2**20}; "
            f"received {num_buckets!r}."
        )


Before = Annotated[Count, Doc("chunks before its own that a position meets")]
After = Annotated[Count, Doc("chunks after its own that a position meets, where it may look ahead")]


class Hashed(Table):
    """The blocks of a local attention that hash instead, as every second one of a Reformer does."""

    blocks: Annotated[list[Positive], Doc("their numbers, from 1; without them none")] = []
    num_buckets: Annotated[Even | list[Even], Doc("hash buckets, or the factors of their number")] = 16
    chunk_length: Annotated[Positive, Doc("positions of a chunk")] = 64
    before: Before = 1
    after: After = 0
    rounds: Annotated[Positive, Doc("hashings whose results are mixed")] = 1

    def check(self):
        _check_buckets(self.num_buckets)


class Local(Layer, tag="local"):
    """Attention among neighbouring chunks, and among hashed ones in some blocks: the Reformer of Hugging Face."""

    takes = ("units", "num_heads")
    chunk_length: Annotated[Positive, Doc("positions of a chunk")] = 64
    before: Before = 1
    after: After = 0
    head_units: HeadUnits = None
    hashed: Annotated[Hashed, Doc("the blocks that hash")] = Hashed()
    blocks: Blocks = None


class AdaptiveSpan(Layer, tag="adaptive_span"):
    """Every head learns how far it looks back, Sukhbaatar et al. 2019."""

    takes = ("units", "num_heads")
    only = {"initial_span": {"dynamic": (False,)}}
    max_span: Annotated[Positive, Doc("longest span, in tokens")] = 1024
    ramp: Annotated[at_least(2), Doc("tokens over which a span fades out")] = 32
    penalty: Annotated[NotNegative, Doc("price of a token of span in the loss")] = 2e-6
    dynamic: Annotated[bool, Doc("spans are computed for every token from its state")] = False
    window: Annotated[Positive | None, Doc("tokens that training looks back at most; without it max_span")] = None
    initial_span: Annotated[Count, Doc("span before training, in tokens")] = 0
    blocks: Blocks = None

    def check(self):
        if max(self.window or 1, self.initial_span) > self.max_span:
            raise ValueError(
                f"adaptive_span needs a window and an initial_span of at most max_span; received window={self.window}, "
                f"initial_span={self.initial_span}, max_span={self.max_span}."
            )


class MultiLinear(Layer, tag="multi_linear"):
    """Attention by a sum of block-term tensors, Ma et al. 2019 (Tensorized Transformer)."""

    takes = ("units", "context")
    instead = {"max_time": "context"}
    rank: Annotated[Positive, Doc("rank of each core tensor")] = 32
    max_time: Annotated[Positive | None, Doc("longest text, in tokens; without it the model's context")] = None
    num_cores: Annotated[Positive, Doc("core tensors that are averaged")] = 2
    mode: Annotated[
        Literal["split_concat", "reconstruct"], Doc("how the tensor becomes a matrix again; reconstruct is exact")
    ] = "split_concat"
    blocks: Blocks = None


def head_units(attention):
    """The width of heads that the table of an attention gives; None where it gives none."""
    return attention.head_units if isinstance(attention, MultiHead | Relative | Local) else None


# Feed-forward


class Dense(Layer, tag="dense"):
    """Two dense layers, Vaswani et al. 2017."""

    takes = ("units", "hidden_units", "activation", "dropout", "seed")
    use_bias: Annotated[bool, Doc("biases of the two layers")] = True
    blocks: Blocks = None


class Gated(Layer, tag="gated"):
    """A dense layer whose hidden units are multiplied by those of another, Shazeer 2020."""

    takes = ("units", "hidden_units", "activation", "dropout", "seed")
    use_bias: Annotated[bool, Doc("biases of the three layers")] = False
    blocks: Blocks = None


class Chunked(Layer, tag="chunked"):
    """The same, a part of the positions at a time: less memory."""

    takes = ("units", "hidden_units", "activation")
    chunks: Annotated[Positive, Doc("parts of the time")] = 2
    blocks: Blocks = None


class ProductKey(Layer, tag="product_key"):
    """A large memory that is read by pairs of sub-keys, Lample et al. 2019."""

    takes = ("units", "num_heads", "seed")
    num_keys: Annotated[Positive, Doc("sub-keys of each half; the memory has their square of values")] = 512
    k: Annotated[Positive, Doc("values that each head reads")] = 32
    query_dim: Annotated[Even, Doc("width of a query")] = 256
    query_norm: Annotated[Literal["batch", "layer"], Doc("norm of the queries")] = "batch"
    blocks: Blocks = None

    def check(self):
        if self.k > self.num_keys**2:
            raise ValueError(
                f"product_key needs k of at most num_keys^2; received k={self.k} and num_keys={self.num_keys}."
            )


# Depth


class Stack(Layer, tag="stack"):
    """One block after the other."""

    takes = ("num_layers",)


class Reversible(Layer, tag="reversible"):
    """Blocks whose inputs are computed again from their outputs, Gomez et al. 2017, Kitaev et al. 2020."""

    takes = ("num_layers",)
    activations: Annotated[
        Literal["plain", "checkpoint", "reversible"], Doc("what is kept for the gradient: all, inputs, or nothing")
    ] = "reversible"
    joined: Annotated[Literal["sum", "both"], Doc("streams that the last norm reads; both are twice as wide")] = "sum"


HALTING = {"halting": ("accumulated", "interpolated")}


class Universal(Layer, tag="universal"):
    """One block again and again, with adaptive computation time if asked for, Dehghani et al. 2019."""

    takes = ("num_layers",)
    only = {"threshold": HALTING, "ponder": HALTING, "max_offset": {"places": (True,)}}
    halting: Annotated[Literal["none", "accumulated", "interpolated"], Doc("rule by which a position stops early")] = (
        "none"
    )
    threshold: Annotated[Between, Doc("sum of halting probabilities at which a position stops")] = 0.99
    ponder: Annotated[NotNegative, Doc("price of a step in the loss")] = 0.01
    max_offset: Annotated[Count, Doc("largest shift of the positions that training draws")] = 0
    places: Annotated[bool, Doc("every step adds sines of the place and of the step")] = True


class Star(Layer, tag="star"):
    """Rings of neighbours and one relay node, Guo et al. 2019."""

    takes = ("num_layers", "units", "num_heads", "dropout", "seed")
    replaces = ("attention", "feedforward", "block", "pooling")
    connections: Annotated[Literal["star", "ring", "radical"], Doc("both kinds of connections, or one alone")] = "star"


LEARNED_EXITS = ("sequence", "multinomial", "geometric")  # the rules of exit that training teaches


class DepthAdaptive(Layer, tag="depth_adaptive"):
    """Tokens leave the decoder at their own depth, Elbayad et al. 2020."""

    takes = ("num_layers", "seed")
    elsewhere = ("tied",)
    exit: Annotated[
        Literal["last", "sequence", "multinomial", "geometric", "confidence"], Doc("rule by which a token leaves")
    ] = "geometric"
    paths: Annotated[Count, Doc("sampled depths that training aligns to; 0: all depths at once")] = 0
    tied: Annotated[bool, Doc("one output matrix for all depths")] = True

    def check(self):
        if self.paths and self.exit in LEARNED_EXITS:
            raise ValueError(
                "a rule of exit learns from the losses of all depths, and training by paths has those of the paths "
                f'alone. Expected paths = 0, or exit = "last"; received paths={self.paths}, exit={self.exit!r}.'
            )
