"""Models that read and label: a whole text (`Classifier`), each token (`Tagger`), or two texts (`PairClassifier`)."""

from typing import Any

import keras
from keras import layers, ops

from zoo.core.dropout import Dropout, shifted
from zoo.core.masks import length_mask, masked_mean
from zoo.core.protocols import Depth, Embedding, Positions, output_units
from zoo.core.registry import build_parts, register
from zoo.decoding.loop import PAD
from zoo.embeddings import Entrance, TokenEmbedding, positions_before
from zoo.models import signatures
from zoo.models.shared import InsideKeras, check_direction, named


class Labeller(InsideKeras, keras.Model):
    """The base of models that read: from ids to the states of a stack, and with `labels` from states to logits."""

    labels = True
    fewest = 1  # labels; with one label the output is a number

    def __init__(
        self,
        vocab_size: int,
        num_labels: int | None,
        encoder: Any,
        positions: Any = None,
        embedding: Any = None,
        dropout: float = 0.1,
        seed: int | None = None,
        pooling: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if self.labels and (not isinstance(num_labels, int) or num_labels < self.fewest):
            or_one = ", or 1 for a number" if self.fewest == 1 else ""
            raise ValueError(
                f"{type(self).__name__} needs at least two labels{or_one}. Received: num_labels={num_labels!r}."
            )
        check_direction(self, encoder, "both_ways")
        if pooling is not None and Depth.of(encoder).summarises:
            raise ValueError(
                f"{type(encoder).__name__} gives a summary of its own, so {type(self).__name__} has no states to pool. "
                f"Received: pooling={pooling.name!r}. Leave it out, or take another encoder."
            )
        self.vocab_size, self.num_labels, self.encoder, self.pooling = vocab_size, num_labels, encoder, pooling
        self.dropout, self.seed = dropout, seed
        policy = self.dtype_policy
        self.embedding = embedding or TokenEmbedding(vocab_size, encoder.units, dtype=policy)
        self.positions = positions or positions_before(encoder, policy)
        self.dropout_layers = [Dropout(dropout, seed=shifted(seed, index), dtype=policy) for index in range(2)]
        self.readout = layers.Dense(num_labels, name="readout", dtype=policy) if self.labels else None

    def build(self, input_shape=None):
        build_parts([self.embedding])
        build_parts([self.positions], (None, None, self.embedding.units))
        build_parts([self.encoder], (None, None, Positions.of(self.positions).units or self.embedding.units))
        build_parts([self.pooling], (None, None, output_units(self.encoder)))
        if self.labels:
            self.readout.build((None, output_units(self.encoder)))

    @property
    def entrance(self):
        """Where token ids enter."""
        return Entrance(self.embedding, self.positions, self.dropout_layers[0])

    def read(self, inputs, training=None, **settings):
        """`(outputs of the encoder, mask (batch, time))`, with the time axis of the embedding."""
        token_ids, lengths = named(self, inputs, "token_ids", "lengths")
        mask = length_mask(lengths, ops.shape(token_ids)[1])
        token_ids = ops.where(mask, token_ids, PAD)
        x, mask = self.entrance.read(token_ids, mask, training)
        return self.encoder(x, mask=mask, training=training, **settings), mask

    def states(self, inputs, training=None):
        """The encoder's states of `token_ids` and `lengths`, `(batch, time, units)`."""
        return self.read(inputs, training)[0]

    def summarise(self, inputs, training=None):
        """One vector of each text, `(batch, units)`: its states, pooled, or the encoder's own summary."""
        if Depth.of(self.encoder).summarises:
            return self.read(inputs, training, summary=True)[0]
        states, mask = self.read(inputs, training)
        return masked_mean(states, mask) if self.pooling is None else self.pooling(states, mask=mask)

    def summarise_both(self, inputs, training=None):
        """The vectors of the first texts of pairs, and of the second ones."""
        names = ("first_ids", "first_lengths", "second_ids", "second_lengths")
        first, first_lengths, second, second_lengths = named(self, inputs, *names)
        sides = (first, first_lengths), (second, second_lengths)
        return [self.summarise({"token_ids": ids, "lengths": lengths}, training) for ids, lengths in sides]

    def logits(self, states, training=None):
        """`(batch, num_labels)`; where that is 1, numbers `(batch,)`."""
        scores = ops.cast(self.readout(self.dropout_layers[1](states, training=training)), "float32")
        return scores[..., 0] if self.num_labels == 1 else scores


@register
class Classifier(Labeller):
    """`p(c | x) = softmax(W h + b)`, `h` is the mean of the encoder's states over the text's own positions, what
    another `pooling` makes of them, or the summary of an encoder that has one (`zoo.depth.StarStack`).

    Call arguments: a dict of `token_ids (batch, time)` and `lengths (batch,)`, int32; EOS ends a text.
    Returns: logits `(batch, num_labels)`, float32; with one label a number each, `(batch,)`. An empty row has
    those of `h = 0`.

    Args:
        vocab_size: number of token ids.
        num_labels: number of classes, at least 2; or 1, and the output is a number, such as a rating.
        encoder: a stack without cross-attention (`zoo.depth.make_stack`), or a `zoo.recurrent.RecurrentReader`.
        positions: a layer of `zoo.embeddings`; None is `SinusoidalPositions`.
        embedding: another one, of the encoder's units (before a `RecurrentReader`, of any); None is `TokenEmbedding`.
            A `SentenceEmbedding` gives a classifier's encoder sentences for positions.
        dropout: on the sum of embeddings and positions, and on `h`.
        seed: of the dropout.
        pooling: a layer such as `zoo.models.Pooling`; None is the mean.

    Raises:
        ValueError: no label, an encoder that looks back alone, or a pooling beside an encoder's summary.

    Example:
        >>> import numpy as np
        >>> from zoo.models import Classifier
        >>> from zoo.depth import make_stack
        >>> model = Classifier(11, 3, make_stack(1, units=8, num_heads=2, hidden_units=16))
        >>> tuple(model({"token_ids": np.ones((2, 5), "int32"), "lengths": np.array([5, 3], "int32")}).shape)
        (2, 3)
    """

    def call(self, inputs, training=None):
        return self.logits(self.summarise(inputs, training), training)

    def signatures(self):
        """The typed table of what this model serves."""
        return signatures.classifier(self.num_labels)


@register
class Tagger(Labeller):
    """`p(c_t | x) = softmax(W h_t + b)` for every token `t`.

    Call arguments: a dict of `token_ids (batch, time)` and `lengths (batch,)`, int32; EOS ends a text.
    Returns: logits `(batch, time, num_labels)`, float32. The tag of a word is that of its first piece.

    Args: as of `Classifier`.

    Raises:
        ValueError: an embedding that gives fewer vectors than there are tokens.

    Example:
        >>> import numpy as np
        >>> from zoo.models import Tagger
        >>> from zoo.depth import make_stack
        >>> model = Tagger(11, 17, make_stack(1, units=8, num_heads=2, hidden_units=16))
        >>> tuple(model({"token_ids": np.ones((2, 5), "int32"), "lengths": np.array([5, 3], "int32")}).shape)
        (2, 5, 17)
    """

    fewest = 2

    def __init__(
        self,
        vocab_size: int,
        num_labels: int,
        encoder: Any,
        positions: Any = None,
        embedding: Any = None,
        dropout: float = 0.1,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(vocab_size, num_labels, encoder, positions, embedding, dropout, seed, **kwargs)
        if Embedding.of(self.embedding).gathers:
            raise ValueError(
                f"A Tagger labels tokens, and {type(self.embedding).__name__} gives one vector for many of them. "
                "Expected an embedding such as TokenEmbedding; for a label of the whole text take a Classifier."
            )

    def call(self, inputs, training=None):
        return self.logits(self.states(inputs, training), training)

    def signatures(self):
        """The typed table of what this model serves."""
        return signatures.tagger(self.num_labels)


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
        build_parts([self.hidden], (None, 4 * output_units(self.encoder)))

    def call(self, inputs, training=None):
        first, second = self.summarise_both(inputs, training)
        difference = first - second
        features = ops.concatenate([first, second, ops.abs(difference), difference], axis=-1)
        return self.logits(self.hidden(features), training)

    def signatures(self):
        """The typed table of what this model serves."""
        return signatures.pair_classifier(self.num_labels)
