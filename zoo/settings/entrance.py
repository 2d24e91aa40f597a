"""What the slots of positions, embedding and pooling may hold: how token ids enter a model and how it reads states."""

from typing import Annotated, Literal

from zoo.settings.kinds import BelowOne, Count, Doc, NotNegative, Positive
from zoo.settings.layers import Layer

# What may stand behind positions (`zoo.embeddings.NormalizedPositions`).
NormEpsilon = Annotated[BelowOne, Doc("a norm behind the positions adds this to the variance; 0: no norm")]
Projected = Annotated[bool, Doc("a dense layer behind them, to model.units")]


class Sinusoidal(Layer, tag="sinusoidal"):
    """Fixed sines, Vaswani et al. 2017; none before a stack that has positions of its own."""

    norm_epsilon: NormEpsilon = 0.0
    projected: Projected = False


class Learned(Layer, tag="learned"):
    """A vector for every position."""

    takes = ("context",)
    instead = {"max_positions": "context"}
    max_positions: Annotated[Positive | None, Doc("positions; without it the model's context")] = None
    norm_epsilon: NormEpsilon = 0.0
    projected: Projected = False


class Axial(Layer, tag="axial"):
    """A vector for every row and every column of positions, Kitaev et al. 2020."""

    takes = ("context",)
    columns: Annotated[Positive, Doc("positions of a row")] = 64
    row_units: Annotated[Positive | None, Doc("channels that encode the row; without it half of them")] = None
    norm_epsilon: NormEpsilon = 0.0
    projected: Projected = False


class Convolutional(Layer, tag="convolutional"):
    """Neighbours are mixed into every position by a convolution."""

    width: Annotated[Positive, Doc("positions that are mixed, an odd number")] = 3
    norm_epsilon: NormEpsilon = 0.0
    projected: Projected = False

    def check(self):
        if self.width % 2 == 0:
            raise ValueError(f"width must be an odd whole number; received {self.width}.")


class Concatenated(Layer, tag="concatenated"):
    """Learned positions in columns of their own."""

    max_positions: Annotated[Positive, Doc("positions")] = 128
    columns: Annotated[Positive, Doc("units that hold the position")] = 32
    norm_epsilon: NormEpsilon = 0.0
    projected: Projected = False


class NoPositions(Layer, tag="none"):
    """Nothing tells where a token stands, or the attention does."""

    norm_epsilon: NormEpsilon = 0.0
    projected: Projected = False


# Embeddings


class Tokens(Layer, tag="tokens"):
    """A vector for every token."""

    takes = ("units",)
    scaled: Annotated[bool, Doc("vectors are multiplied by the square root of their width")] = True
    width: Annotated[Count, Doc("width of the vectors, where positions.projected is true; 0: model.units")] = 0


class WrittenTokens(Layer, tag="tokens"):
    """A vector for every token, and the output, which is made of them unless it has a matrix of its own."""

    takes = ("units",)
    scaled: Annotated[bool, Doc("vectors are multiplied by the square root of their width")] = True
    output: Annotated[Literal["tied", "own"], Doc("the output matrix: the vectors, or a matrix of its own")] = "tied"
    output_bias: Annotated[bool, Doc("a bias of the output")] = False


class Spelled(Layer, tag="spelled"):
    """Tokens are known by their ends and shape, too (`zoo.embeddings.SpelledEmbedding`)."""

    takes = ("units", "seed")
    alone: Annotated[BelowOne, Doc("share of the pieces that training knows by their spelling alone")] = 0.0
    buckets: Annotated[Positive, Doc("vectors that ends and shapes share; a small vocabulary needs fewer")] = 8192


class Sentences(Layer, tag="sentences"):
    """One vector for every sentence (`zoo.embeddings.SentenceEmbedding`)."""

    takes = ("units",)
    shortest: Annotated[Positive, Doc("tokens of a sentence at least")] = 2
    spread: Annotated[NotNegative, Doc("how much the order of words counts from the start: deviation of the masks")] = (
        1.0
    )


# Pooling: one vector of a text, of the states of its tokens


Activated = Annotated[
    Literal["none", "tanh", "relu"], Doc("a dense layer behind it, of model.units, with this function; none: no layer")
]


class Mean(Layer, tag="mean"):
    """The mean of the states."""

    dense: Activated = "none"


class First(Layer, tag="first"):
    """The state of the first token, Devlin et al. 2018."""

    dense: Activated = "none"
