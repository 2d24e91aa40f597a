"""A recurrent encoder in the place of a stack of blocks, in models that read and label."""

from typing import Any

from keras import layers

from zoo.core import protocols
from zoo.core.masks import ImplicitMasks
from zoo.core.registry import register


@register
class RecurrentReader(ImplicitMasks, layers.Layer):
    """`h_1, ..., h_n`: the outputs of a recurrent encoder, without its final states.

    It is what a `zoo.models.Classifier`, `Tagger` or `PairClassifier` takes for its encoder. Recurrence knows the order
    of its inputs, so the model adds no positions. The encoder's inputs may have any width, see the example; its
    outputs have `units`.

    A unidirectional encoder is let in as well: its state at a position knows the text up to there, which is what a
    tagger of a text that is still being written has; the mean over the positions knows the whole text.

    Shapes: inputs `(batch, time, input_units)`, mask `(batch, time)` bool -> `(batch, time, units)`.
    Masking and cost: the encoder's; outputs at padded positions are 0.

    Args:
        encoder: a `RecurrentEncoder` or a `SelfAttentiveEncoder`.

    Example:
        >>> import numpy as np
        >>> from zoo.embeddings import TokenEmbedding
        >>> from zoo.models import Classifier
        >>> from zoo.recurrent import RecurrentEncoder, RecurrentReader
        >>> reader = RecurrentReader(RecurrentEncoder(8, "lstm"))
        >>> model = Classifier(11, 3, reader, embedding=TokenEmbedding(11, 6))
        >>> tuple(model({"token_ids": np.ones((2, 5), "int32"), "lengths": np.array([5, 3], "int32")}).shape)
        (2, 3)

    Reference: https://arxiv.org/abs/1508.01991 (tagging by bidirectional LSTMs).
    """

    traits = protocols.Depth(places_itself=True)

    def __init__(self, encoder: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.encoder = encoder

    @property
    def units(self):
        """The width of the outputs."""
        return self.encoder.output_units

    def build(self, inputs_shape):
        if not self.encoder.built:  # one that comes out of a file is built already
            self.encoder.build(inputs_shape)

    def call(self, inputs, mask=None, training=None):
        return self.encoder(inputs, mask=mask, training=training)[0]

    def compute_output_shape(self, inputs_shape):
        return (*inputs_shape[:2], self.units)
