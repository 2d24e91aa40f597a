"""The kinds of models and their sizes."""

from typing import Annotated, Literal

from zoo.settings.declared import one_of
from zoo.settings.table import BelowOne, Count, Doc, Positive, Table

Cell = Annotated[one_of("recurrent.cells.CELLS"), Doc("recurrent cell")]
Reads = Annotated[
    Literal["bidirectional", "unidirectional", "self_attentive"],
    Doc("how the encoder reads; self_attentive: in both directions, and its states attend to each other"),
]


class Model(Table, tag_field="kind"):
    """What every model has."""

    units: Annotated[Positive, Doc("width of every state and embedding")] = 256
    num_layers: Annotated[Positive, Doc("layers of the encoder, and of a decoder")] = 1
    dropout: Annotated[BelowOne, Doc("share of every state that training sets to 0")] = 0.0

    @property
    def kind(self):
        """The name of the kind."""
        return self.tag

    @property
    def decoder_layers(self):
        """0: a decoder, if there is one, has as many layers as the encoder."""
        return 0


class Recurrent(Model, tag="recurrent"):
    """A recurrent encoder."""

    cell: Cell = "gru"
    encoder: Reads = "bidirectional"


class RecurrentWriter(Model, tag="recurrent"):
    """A recurrent encoder and a recurrent decoder."""

    cell: Cell = "gru"
    encoder: Reads = "bidirectional"
    state_activation: Annotated[
        Literal["tanh", "linear"], Doc("activation of the decoder's first state, and of what the output matrix reads")
    ] = "tanh"


Heads = Annotated[Positive, Doc("heads of each attention")]
HiddenUnits = Annotated[Positive, Doc("width inside the feed-forward layers; Macaron's two have half of it each")]
Activation = Annotated[
    Literal["relu", "gelu", "gelu_tanh", "silu"],
    Doc("activation of the feed-forward layers; gelu_tanh approximates gelu, as in GPT-2"),
]
Context = Annotated[
    Positive, Doc("tokens that a language model sees at once in training, and number of learned positions")
]


class Transformer(Model, tag="transformer"):
    """Blocks of attention and feed-forward layers, as the slots say."""

    num_heads: Heads = 4
    hidden_units: HiddenUnits = 512
    activation: Activation = "relu"
    context: Context = 64
    decoder_layers: Annotated[Count, Doc("layers of a translator's decoder; 0: as many as the encoder has")] = 0


class Encoding(Model, tag="transformer"):
    """Blocks of attention and feed-forward layers, whose states become the vector of a text."""

    num_heads: Heads = 4
    hidden_units: HiddenUnits = 512
    activation: Activation = "relu"
    context: Context = 64
    normalize: Annotated[bool, Doc("whether vectors are scaled to the length 1")] = True
