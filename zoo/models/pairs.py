"""A model that reads two texts and labels the pair."""

from typing import Any

from keras import layers, ops

from zoo.core.protocols import output_units
from zoo.core.registry import register
from zoo.models import signatures
from zoo.models.labelling import Labeller


@register
class PairClassifier(Labeller):
    """`p(c | x, y) = softmax(W_2 relu(W_1 [r; s; |r - s|; r - s] + b_1) + b_2)`, `r` and `s` the two texts' summaries.

    Both texts go through the same embedding, positions and encoder, each by itself; a summary is what a `Classifier`
    reads: the mean of the states, what another `pooling` makes of them, or the summary of an encoder that has one
    (`zoo.depth.StarStack`).

    Call arguments: a dict of `first_ids (batch, first_time)`, `first_lengths (batch,)`, `second_ids (batch,
    second_time)` and `second_lengths (batch,)`, int32; EOS ends a text.
    Returns: logits `(batch, num_labels)`, float32; with one label a number each, `(batch,)`. An empty text has
    the summary 0.

    Args: as of `Classifier`; `W_1` gives as many units as the encoder has.

    Raises:
        ValueError: no label.

    Example:
        >>> import numpy as np
        >>> from zoo.models import PairClassifier
        >>> from zoo.depth import make_star_stack
        >>> model = PairClassifier(11, 3, make_star_stack(2, units=8, num_heads=2))
        >>> sides = {"first_ids": np.ones((2, 5), "int32"), "first_lengths": np.array([5, 3], "int32")}
        >>> sides |= {"second_ids": np.ones((2, 4), "int32"), "second_lengths": np.array([1, 4], "int32")}
        >>> tuple(model(sides).shape)
        (2, 3)

    Reference: https://arxiv.org/abs/1902.09113, section 4.3 (its features after https://arxiv.org/abs/1512.08422).
    """

    def __init__(
        self,
        vocab_size: int,
        num_labels: int,
        encoder: Any,
        positions: Any = None,
        embedding: Any = None,
        dropout: float = 0.1,
        seed: int | None = None,
        pooling: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(vocab_size, num_labels, encoder, positions, embedding, dropout, seed, pooling, **kwargs)
        self.hidden = layers.Dense(
            output_units(self.encoder), activation="relu", name="hidden", dtype=self.dtype_policy
        )

    def build(self, input_shape=None):
        super().build()
        if not self.hidden.built:
            self.hidden.build((None, 4 * output_units(self.encoder)))

    def call(self, inputs, training=None):
        first, second = self.summarise_both(inputs, training)
        difference = first - second
        features = ops.concatenate([first, second, ops.abs(difference), difference], axis=-1)
        return self.logits(self.hidden(features), training)

    def signatures(self):
        """The typed table of what this model serves."""
        return signatures.pair_classifier(self.num_labels)
