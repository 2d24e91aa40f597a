"""What the slots of positions, embedding and pooling may hold: how token ids enter a model and how it reads states."""

from typing import Annotated, Literal

from zoo.core.protocols import output_units
from zoo.settings.slots import layer
from zoo.settings.table import BelowOne, Count, Doc, NotNegative, Positive


@layer("positions", "sinusoidal")
class Sinusoidal:
    """Fixed sines, Vaswani et al. 2017; none before a stack that has positions of its own."""


@layer("positions", "learned", "embeddings.positions.LearnedPositions")
class Learned:
    """A vector for every position."""

    instead = {"max_positions": "context"}
    max_positions: Positive | None = None


@layer("positions", "axial", "embeddings.positions.AxialPositions")
class Axial:
    """A vector for every row and every column of positions, Kitaev et al. 2020."""

    takes, hidden = ("context",), ("shape",)
    columns: Annotated[Positive, Doc("positions of a row")] = 64
    row_units: Positive | None

    def arguments(self, available):
        """The arguments; the grid has as many rows as the model's context needs."""
        return {"shape": (-(-available["context"] // self.columns), self.columns), "row_units": self.row_units}


@layer("positions", "convolutional", "embeddings.mixed.ConvolutionalPositions")
class Convolutional:
    """Neighbours are mixed into every position by a convolution."""

    width: Positive

    def check(self):
        if self.width % 2 == 0:
            raise ValueError(f"width must be an odd whole number; received {self.width}.")


@layer("positions", "concatenated", "embeddings.mixed.ConcatenatedPositions")
class Concatenated:
    """Learned positions in columns of their own."""

    max_positions: Positive = 128
    columns: Annotated[Positive, Doc("units that hold the position")] = 32

    def arguments(self, available):
        """The arguments; the columns are the layer's `units`."""
        return {"max_positions": self.max_positions, "units": self.columns}


@layer("positions", "none", "embeddings.positions.NoPositions")
class NoPositions:
    """No positions: the order is not known, or the attention knows it."""


@layer("embedding", "tokens", "embeddings.tokens.TokenEmbedding")
class Tokens:
    """A vector for every token."""

    writes, hidden = False, ("tied", "output_bias", "output_units")
    width: Annotated[Count, Doc("width of the vectors, where positions.projected is true; 0: model.units")] = 0

    def arguments(self, available):
        """The arguments, or None for the plain vectors that models make by themselves."""
        plain = self.scaled and not self.width
        return None if plain else {"units": self.width or available["units"], "scaled": self.scaled}


@layer("embedding", "tokens", "embeddings.tokens.TokenEmbedding")
class WrittenTokens:
    """A vector for every token, and the output matrix, which is the same unless it has its own."""

    writes, hidden = True, ("tied", "output_units")
    output: Annotated[Literal["tied", "own"], Doc("the output matrix: the vectors, or a matrix of its own")] = "tied"

    def arguments(self, available):
        """As of `Tokens`. The output reads the states of the stack `behind`, which is None where there is no output."""
        if available["behind"] is None:
            return None if self.scaled else {"scaled": self.scaled}
        behind, units = output_units(available["behind"]), available["units"]
        if self.scaled and not self.output_bias and (self.output == "tied" or behind != units):
            return None
        same = behind == units
        output = {"tied": self.output == "tied" and same, "output_units": None if same else behind}
        return output | {"scaled": self.scaled, "output_bias": self.output_bias}


@layer("embedding", "spelled", "embeddings.spelled.SpelledEmbedding")
class Spelled:
    """A vector for every token, to which its ends and its shape add (`zoo.embeddings.SpelledEmbedding`)."""

    hidden = ("features",)
    alone: Annotated[BelowOne, Doc("share of the pieces that training reads by their spelling alone")] = 0.0
    buckets: Positive

    def arguments(self, available):
        """The arguments; `alone` is the layer's `dropout`, which is not that of the model."""
        return {"dropout": self.alone, "buckets": self.buckets}


@layer("embedding", "sentences", "embeddings.sentences.SentenceEmbedding")
class Sentences:
    """One vector for every sentence (`zoo.embeddings.SentenceEmbedding`)."""

    hidden = ("longest",)
    shortest: Positive = 2
    spread: NotNegative


class _Pooled:
    rule, hidden = "mean", ("rule",)
    dense: Annotated[
        Literal["none", "tanh", "relu"],
        Doc("activation of a dense layer of model.units behind it; none: no such layer"),
    ] = "none"

    def arguments(self, available):
        """The arguments, or None for the plain mean that models make by themselves."""
        dense = None if self.dense == "none" else self.dense
        return {"rule": self.rule, "dense": dense} if dense or self.rule != "mean" else None


@layer("pooling", "mean", "models.encoder.Pooling")
class Mean(_Pooled):
    """The mean of the states."""


@layer("pooling", "first", "models.encoder.Pooling")
class First(_Pooled):
    """The state of the first token, Devlin et al. 2018."""

    rule = "first"
