"""Recurrent layers over a padded batch: a stack of them, one whose states attend to each other, and states alone."""

from typing import Any

from keras import layers, ops

from zoo.core import protocols
from zoo.core.dropout import Dropout, shifted
from zoo.core.masks import ImplicitMasks
from zoo.core.registry import build_parts, register
from zoo.recurrent import loop
from zoo.recurrent.cells import check_cell, check_layers, make_layer


class Untracked:
    """Holds what Keras is not to count among the parts of a layer."""

    def __init__(self, value):
        self.value = value


@register
class RecurrentEncoder(ImplicitMasks, layers.Layer):
    """`h^l = RNN_l(dropout(h^{l-1}))`, where bidirectional layers give `h_i = [forward h_i; backward h_i]`.

    Shapes: inputs `(batch, time, input_units)`, mask `(batch, time)` bool -> outputs
    `(batch, time, output_units)` and the last layer's final states, a tuple (LSTM: h and c) of
    `(batch, output_units)`, with `output_units = 2 * units` if bidirectional else `units`.
    Masking: right padding only (masks come from lengths). The state stops at the true length of a
    sequence, the backward direction starts there, outputs at padded positions are 0, and a sequence of length 0 gives
    zeros.
    Cost: `O(time * units * (units + input_units))` per layer, sequential in time.

    Args:
        units: width of each direction.
        cell: "simple_rnn", "gru", "gru_reset_before" or "lstm" (`zoo.recurrent.cells` has their equations).
        num_layers: how many layers are stacked.
        bidirectional: read in both directions.
        dropout: share of the inputs of every layer after the first that is dropped in training.
        seed: of the dropout.

    Raises:
        ValueError: an unknown cell, or `num_layers` is not a positive integer.

    Example:
        >>> import numpy as np
        >>> from zoo.recurrent import RecurrentEncoder
        >>> outputs, states = RecurrentEncoder(8)(np.ones((2, 5, 3), "float32"))
        >>> tuple(outputs.shape), tuple(states[0].shape)
        ((2, 5, 16), (2, 16))

    Reference: https://arxiv.org/abs/1409.0473, appendix A.2.1.
    """

    def __init__(
        self,
        units: int,
        cell: Any = "gru",
        num_layers: int = 1,
        bidirectional: bool = True,
        dropout: float = 0.0,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.units, self.cell, self.num_layers = units, check_cell(cell), check_layers(num_layers)
        self.bidirectional, self.dropout, self.seed = bidirectional, dropout, seed
        policy = self.dtype_policy
        settings = {"return_sequences": True, "return_state": True, "zero_output_for_mask": True, "dtype": policy}
        templates = [make_layer(cell, units, **settings) for _ in range(num_layers)]
        self.layers = [layers.Bidirectional(each, dtype=policy) if bidirectional else each for each in templates]
        # `Bidirectional` makes its two layers from the configuration of the template, by way of its `id`. If a template
        # were gone, the next one might have the same id, and while a file is read Keras takes the two for one.
        self._templates = Untracked(templates)
        self.dropout_layers = [
            Dropout(dropout, seed=shifted(seed, index), dtype=policy) for index in range(num_layers - 1)
        ]

    @property
    def output_units(self):
        return self.units * (2 if self.bidirectional else 1)

    def build(self, inputs_shape):
        for layer in self.layers:
            layer.build(inputs_shape)
            inputs_shape = (*inputs_shape[:2], self.output_units)

    def call(self, inputs, mask=None, training=None):
        outputs, states = inputs, ()
        for index, layer in enumerate(self.layers):
            if index:
                outputs = self.dropout_layers[index - 1](outputs, training=training)
            if training and self.cell in loop.STEPS:
                outputs, states = self._trained(layer, outputs, mask)
            else:
                with loop.read_before(layer):
                    outputs, *states = layer(outputs, mask=mask, training=training)
        return outputs, self._join(states)

    def _trained(self, layer, inputs, mask):
        """The same by a loop whose gradient is cheaper."""
        start = [ops.zeros((ops.shape(inputs)[0], self.units), inputs.dtype)] * (2 if self.cell == "lstm" else 1)
        if not self.bidirectional:
            return loop.run(self.cell, layer.cell, inputs, start, mask)
        outputs, states = loop.run(self.cell, layer.forward_layer.cell, inputs, start, mask)
        turned = None if mask is None else ops.flip(mask, axis=1)
        others, more = loop.run(self.cell, layer.backward_layer.cell, ops.flip(inputs, axis=1), start, turned)
        return ops.concatenate([outputs, ops.flip(others, axis=1)], axis=-1), (*states, *more)

    def _join(self, states):
        if not self.bidirectional:
            return tuple(states)
        half = len(states) // 2
        pairs = zip(states[:half], states[half:], strict=True)
        return tuple(ops.concatenate(pair, axis=-1) for pair in pairs)

    def compute_output_shape(self, inputs_shape):
        state = (inputs_shape[0], self.output_units)
        return (*inputs_shape[:2], self.output_units), (state,) * (2 if self.cell == "lstm" else 1)

    def compute_mask(self, inputs, mask=None):
        return mask, (None,) * (2 if self.cell == "lstm" else 1)  # final states have no time


@register
class SelfAttentiveEncoder(ImplicitMasks, layers.Layer):
    """`h~_i = tanh(W [h_i; c_i])` with `c_i = sum_j a_ij h_j`: the states of a recurrent encoder attend to each other.

    Shapes, masking and results as `RecurrentEncoder`; the final states are the recurrent encoder's. Cost: the
    encoder's plus the attention's `O(time^2)`.

    Args:
        encoder: a `RecurrentEncoder`.
        attention: any layer with the attention contract, over the encoder's states.

    Example:
        >>> import numpy as np
        >>> from zoo.attention import DotProductAttention
        >>> from zoo.recurrent import RecurrentEncoder, SelfAttentiveEncoder
        >>> encoder = SelfAttentiveEncoder(RecurrentEncoder(8), DotProductAttention(8))
        >>> tuple(encoder(np.ones((2, 5, 3), "float32"))[0].shape)
        (2, 5, 16)

    Reference: the attentional hidden state of https://arxiv.org/abs/1508.04025 (eq. 5), applied to the encoder itself
    as in https://arxiv.org/abs/1601.06733.
    """

    def __init__(self, encoder: Any, attention: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.encoder, self.attention = encoder, attention
        self.combine = layers.Dense(encoder.output_units, activation="tanh", dtype=self.dtype_policy)

    @property
    def output_units(self):
        return self.encoder.output_units

    def build(self, inputs_shape):
        build_parts([self.encoder], inputs_shape)
        build_parts([self.attention], (*inputs_shape[:2], self.output_units))
        self.combine.build((*inputs_shape[:2], 2 * self.output_units))

    def call(self, inputs, mask=None, training=None):
        outputs, states = self.encoder(inputs, mask=mask, training=training)
        context = self.attention(outputs, query_mask=mask, value_mask=mask, training=training)
        outputs = self.combine(ops.concatenate([outputs, context], axis=-1))
        if mask is not None:
            outputs = ops.where(mask[:, :, None], outputs, 0.0)
        return outputs, states

    def compute_output_shape(self, inputs_shape):
        return self.encoder.compute_output_shape(inputs_shape)

    def compute_mask(self, inputs, mask=None):
        return self.encoder.compute_mask(inputs, mask)


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
        build_parts([self.encoder], inputs_shape)

    def call(self, inputs, mask=None, training=None):
        return self.encoder(inputs, mask=mask, training=training)[0]

    def compute_output_shape(self, inputs_shape):
        return (*inputs_shape[:2], self.units)
