"""Recurrent sequence to sequence, with and without attention."""

from typing import Any

import keras
from keras import layers, ops, tree

from zoo.attention import AdditiveAttention, DotProductAttention
from zoo.core.dropout import Dropout, shifted
from zoo.core.masks import length_mask
from zoo.core.registry import build_parts, register
from zoo.core.tensors import flatten_beams, gather_beams
from zoo.decoding.loop import BOS, PAD
from zoo.embeddings.tokens import as_ids
from zoo.models import signatures
from zoo.models.shared import InsideKeras, named
from zoo.recurrent import RecurrentDecoder, RecurrentEncoder

ATTENTIONS = {
    None: lambda units, dtype: None,
    "additive": lambda units, dtype: AdditiveAttention(units, dtype=dtype),
    "dot": lambda units, dtype: DotProductAttention(units, scale=units**-0.5, dtype=dtype),
}
DROPOUTS = ("source", "memory", "target", "readout")


@register
class Seq2Seq(InsideKeras, keras.Model):
    """`p(y_j | y_<j, x) = softmax(E t_j + b)`, `t_j = tanh(W [s_{j+1}; c_j; y_j])`, `s_{j+1} = cell([y_j; c_j], s_j)`.

    Encoder and decoder of any recurrent cell. With `attention=None` the context `c` is the encoder's final state (Cho
    et al. 2014), else `c_j` is the mean of the encoder's states that additive (Bahdanau et al. 2015) or dot-product
    (Luong et al. 2015, "general") attention weighs by the state `s_j`. The target embedding `E` is also the
    output matrix.

    Call arguments: a dict of `source_ids (batch, source_time)`, `source_lengths (batch,)` and `target_ids
    (batch, time)`, int32, where target_ids is BOS and then the target (teacher forcing).
    Returns: logits `(batch, time, target_vocab_size)`, float32.
    Masking: from the lengths; padding, its content and the other rows never change a row.
    Search sees `encode`, `start` and `step` (the step protocol); beams are query positions, so the memory is held once
    per sentence whatever the number of beams.

    Args:
        source_vocab_size, target_vocab_size: numbers of token ids.
        units: width of embeddings, of each encoder direction, of the decoder's state and of the attention.
        cell: "simple_rnn", "gru", "gru_reset_before" or "lstm".
        attention: None, "additive" or "dot" (with its scores scaled by `1 / sqrt(units)`).
        num_layers: recurrent layers in the encoder and in the decoder.
        dropout: on embeddings, encoder outputs, between encoder layers and before the output matrix.
        seed: of the dropout.
        encoder: another encoder, for example a `SelfAttentiveEncoder`; None is a bidirectional `RecurrentEncoder` with
            these `units`, `cell`, `num_layers` and `dropout`.
        state_activation: "tanh" or "linear", of `t_j` and of the decoder's first state. With "linear" the first may be
            `s_{j+1}` and the second the encoder's last state, as in Sutskever et al. (2014).

    Raises:
        ValueError: unknown cell or attention; the message lists the known ones.

    Example:
        >>> import numpy as np
        >>> from zoo.models import Seq2Seq
        >>> model = Seq2Seq(11, 13, units=8, attention="dot")
        >>> batch = {"source_ids": np.ones((2, 5), "int32"), "source_lengths": np.array([5, 3], "int32"),
        ...          "target_ids": np.ones((2, 4), "int32")}
        >>> tuple(model(batch).shape)
        (2, 4, 13)

    References: https://arxiv.org/abs/1406.1078, https://arxiv.org/abs/1409.0473, https://arxiv.org/abs/1508.04025,
    https://arxiv.org/abs/1409.3215; one output matrix and embedding: https://arxiv.org/abs/1608.05859.
    """

    def __init__(
        self,
        source_vocab_size: int,
        target_vocab_size: int,
        units: int = 256,
        cell: Any = "gru",
        attention: Any = "additive",
        num_layers: int = 1,
        dropout: float = 0.0,
        seed: int | None = None,
        encoder: Any = None,
        state_activation: str = "tanh",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if attention not in ATTENTIONS:
            raise ValueError(
                f"Unknown attention for Seq2Seq: expected one of {list(ATTENTIONS)}, received {attention!r}."
            )
        self.source_vocab_size, self.target_vocab_size, self.units = source_vocab_size, target_vocab_size, units
        self.cell, self.attention, self.num_layers = cell, attention, num_layers
        self.dropout, self.seed, self.state_activation = dropout, seed, state_activation
        policy = self.dtype_policy
        self.source_embedding = layers.Embedding(source_vocab_size, units, dtype=policy)
        self.target_embedding = layers.ReversibleEmbedding(target_vocab_size, units, dtype=policy)
        self.encoder = encoder or RecurrentEncoder(
            units, cell, num_layers, dropout=dropout, seed=shifted(seed, len(DROPOUTS)), dtype=policy
        )
        attend = ATTENTIONS[attention](units, policy)
        self.decoder = RecurrentDecoder(units, cell, attend, num_layers, state_activation, dtype=policy)
        self.readout = layers.Dense(units, activation=state_activation, dtype=policy)
        self.dropout_layers = {
            name: Dropout(dropout, seed=shifted(seed, index), name=f"drop_{name}", dtype=policy)
            for index, name in enumerate(DROPOUTS)
        }

    def build(self, input_shape=None):
        units, values = self.units, self.encoder.output_units
        self.source_embedding.build()
        self.target_embedding.build()
        build_parts([self.encoder], (None, None, units))
        self.decoder.build((None, None, units), {"values": (None, None, values), "summary": (None, values)})
        self.readout.build((None, 2 * units + values))
        self.bias = self.add_weight(name="bias", shape=(self.target_vocab_size,), initializer="zeros")

    def call(self, inputs, training=None):
        source_ids, lengths, target_ids = named(self, inputs, "source_ids", "source_lengths", "target_ids")
        memory = self.encode(source_ids, lengths, training)
        embeddings = self._embed("target", target_ids, training)
        outputs = self.decoder(embeddings, memory, training=training)
        return self.logits(outputs, embeddings, training)

    def _embed(self, side, token_ids, training=None):
        """The embeddings of ids; recurrence knows their order, so there are no positions."""
        embedding = {"source": self.source_embedding, "target": self.target_embedding}[side]
        return self.dropout_layers[side](embedding(as_ids(token_ids)), training=training)

    def logits(self, outputs, embeddings, training=None, rows=None):
        hidden = self.readout(ops.concatenate([outputs, embeddings], axis=-1))
        hidden = self.dropout_layers["readout"](hidden, training=training)
        if rows is not None:
            return ops.cast(ops.matmul(hidden, rows["columns"]), "float32") + rows["bias"]
        logits = self.target_embedding(hidden, reverse=True)
        return ops.cast(logits, "float32") + ops.cast(self.bias, "float32")

    def output_rows(self, ids):
        """What `step` needs to give logits of the ids `(n,)` alone."""
        bias = ops.take(ops.cast(self.bias, "float32"), ids, axis=0)
        return {"columns": ops.transpose(self.target_embedding(ids)), "bias": bias}

    def encode(self, source_ids, source_lengths, training=None):
        """`(batch, time)` ids and `(batch,)` lengths -> memory, a dict of tensors with the batch axis first."""
        mask = length_mask(source_lengths, ops.shape(source_ids)[1])
        embeddings = self._embed("source", ops.where(mask, source_ids, PAD), training)
        values, states = self.encoder(embeddings, mask=mask, training=training)
        return self.decoder.remember(self.dropout_layers["memory"](values, training=training), mask, states)

    def start(self, memory, beams=1, max_length=None):
        """BOS for every beam `(batch, beams)`, and the state before it; its leaves are `(batch, beams, ...)`."""
        state = self.decoder.start(memory, beams)
        return ops.full((ops.shape(tree.flatten(memory)[0])[0], beams), BOS, dtype="int32"), state

    def step(self, token_ids, state, memory, rows=None):
        """`(batch, beams)` last tokens -> logits `(batch, beams, vocabulary)` and the next state.

        With `rows` of `output_rows`, the logits are those of its ids: `(batch, beams, n)`.
        """
        embeddings = self._embed("target", token_ids)
        outputs, state = self.decoder.step(embeddings, state, memory)
        logits = self.logits(outputs, flatten_beams(embeddings), rows=rows)
        shape = ops.shape(token_ids)
        return ops.reshape(logits, (shape[0], shape[1], ops.shape(logits)[-1])), state

    def source_mask(self, memory):
        """`(batch, source_time)` bool: the positions that `aligned_step` weighs.

        Raises:
            ValueError: the model was made without attention.
        """
        if self.attention is None:
            raise ValueError(
                "A Seq2Seq with attention=None looks at no position of its source, so no search can tell what is "
                "covered. Leave coverage_penalty out, or train a model with attention."
            )
        return memory["mask"]

    def aligned_step(self, token_ids, state, memory, rows=None):
        """`(logits, state, weights)`: a `step`, and its attention `(batch, beams, source_time)`."""
        logits, state = self.step(token_ids, state, memory, rows)
        return logits, state, state["attention"]

    def reorder(self, state, parents):
        """The state whose beam `k` goes on from beam `parents[:, k]`."""
        return gather_beams(state, parents)

    def signatures(self):
        """The typed table of what this model serves; names are the same in SavedModel, ONNX, client and documents."""
        return signatures.generation()
