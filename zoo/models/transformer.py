"""The Transformer: an encoder and a decoder of any blocks, between embeddings."""

from typing import Any

import keras
from keras import ops, saving

from zoo.attention.cache import entries_of
from zoo.core.dropout import Dropout, shifted
from zoo.core.masks import length_mask, optional_mask
from zoo.core.protocols import Depth, Positions, output_units
from zoo.core.registry import build_parts, register
from zoo.decoding.loop import BOS, PAD
from zoo.embeddings import Entrance, positions_before
from zoo.models import signatures
from zoo.models.shared import InsideKeras, check_direction, make_embedding, named

SIDES = ("source", "target")


def _make_twin(layer):
    """A layer of the same settings, with weights and a name of its own."""
    return type(layer).from_config({**layer.get_config(), "name": f"source_{layer.name}"})


@register
class Transformer(InsideKeras, keras.Model):
    """`p(y_j | y_<j, x) = softmax(E d_j)`, `d = decoder(E y_<j + P, encoder(E' x + P))`.

    The blocks decide the paper: `make_stack(..., block="post_norm")` is the original, "pre_norm" and "macaron" are
    others, and a stack of your own blocks is yours. The target embedding `E` is also the output matrix; with
    `shared=True` the source has it too (`E' = E`), as in the paper.

    Call arguments: a dict of `source_ids (batch, source_time)`, `source_lengths (batch,)` and `target_ids
    (batch, time)`, int32, where target_ids is BOS and then the target (teacher forcing); and `target_lengths (batch,)`
    if the decoder's attention sorts its positions (LSH), so that padding is told from targets.
    Returns: logits `(batch, time, target_vocab_size)`, float32; with `states=True` `(d, E)` instead.
    Masking: from the lengths; padding, its content and the other rows never change a row.
    Search sees `encode`, `start`, `step` and `reorder` (the step protocol): the memory's keys and values are computed
    once per sentence, and its beams share one pool of keys (`zoo.attention.cache`).

    Args:
        source_vocab_size, target_vocab_size: numbers of token ids, each a number or a `TokenEmbedding` of the stacks'
            units, which is then taken.
        encoder: a stack without, `decoder`: one with cross-attention (`zoo.depth.make_stack`), of the same units.
        shared: one embedding for source, target and output, that of the target; the vocabularies are then one.
        dropout: on the sums of embeddings and positions.
        seed: of the dropout.
        positions: a layer of `zoo.embeddings`; None is `SinusoidalPositions`. The source has one of the same settings
            with weights of its own (`source_positions`). `LearnedPositions(n)` bound both texts to `n` tokens.

    Raises:
        ValueError: the stacks' units differ, `shared` with two vocabulary sizes, `positions` or a decoder that look
            ahead, an encoder that looks back alone, an embedding of other units, or a target's without an output.

    Example:
        >>> import numpy as np
        >>> from zoo.models import Transformer
        >>> from zoo.depth import make_stack
        >>> parts = [make_stack(2, units=8, num_heads=2, hidden_units=16, cross=cross) for cross in (False, True)]
        >>> model = Transformer(11, 13, *parts)
        >>> batch = {"source_ids": np.ones((2, 5), "int32"), "source_lengths": np.array([5, 3], "int32"),
        ...          "target_ids": np.ones((2, 4), "int32")}
        >>> tuple(model(batch).shape)
        (2, 4, 13)

    Reference: https://arxiv.org/abs/1706.03762.
    """

    def __init__(
        self,
        source_vocab_size: Any,
        target_vocab_size: Any,
        encoder: Any,
        decoder: Any,
        shared: bool = False,
        dropout: float = 0.1,
        seed: int | None = None,
        positions: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if encoder.units != decoder.units:
            raise ValueError(
                "Transformer needs an encoder and a decoder of the same units, the width of what they share. "
                f"Received: {encoder.units} and {decoder.units}."
            )
        check_direction(self, encoder, "both_ways")
        check_direction(self, decoder, "causal")
        if positions is not None and not Positions.of(positions).by_place:
            raise ValueError(
                "A Transformer's positions must not look ahead: expected SinusoidalPositions, LearnedPositions or "
                f"AxialPositions, which depend on the place alone (by_place). Received: {type(positions).__name__}."
            )
        self.encoder, self.decoder, self.shared, self.dropout, self.seed = encoder, decoder, shared, dropout, seed
        policy = self.dtype_policy
        source, target = self._make_embeddings(source_vocab_size, target_vocab_size)
        self.target_embedding, self.source_embedding = target, source  # in files they are numbered in this order
        self.source_vocab_size, self.target_vocab_size = (
            each.vocab_size for each in (self.source_embedding, self.target_embedding)
        )
        self.places_by_itself = positions is None
        self.source_positions = positions_before(encoder, policy) if positions is None else _make_twin(positions)
        self.positions = positions_before(decoder, policy) if positions is None else positions
        self.dropout_layers = {
            side: Dropout(dropout, seed=shifted(seed, index), dtype=policy) for index, side in enumerate(SIDES)
        }

    def _make_embeddings(self, source, target):
        """The embeddings of both sides, each from a number of ids or a layer."""
        target_layer = make_embedding(self, target, self.decoder)
        self.has_own_embeddings = not all(isinstance(each, int) for each in (source, target))
        if not self.shared:
            return make_embedding(self, source, self.encoder, writes=False), target_layer
        ids = source if isinstance(source, int) else source.vocab_size
        if ids != target_layer.vocab_size or source not in (ids, target_layer):
            raise ValueError(
                f"shared=True means one vocabulary for both sides. Received: source_vocab_size={source} and "
                f"target_vocab_size={target}. Learn one on both sides, and give one embedding for both."
            )
        return target_layer, target_layer

    def build(self, input_shape=None):
        shape = (None, None, self.encoder.units)
        build_parts([self.source_embedding, self.target_embedding, self.source_positions, self.positions], shape)
        build_parts([self.encoder], shape)
        build_parts([self.decoder], shape, (*shape[:-1], output_units(self.encoder)))

    def states(self, inputs, training=None):
        """The decoder's states `d`, `(batch, time, units)`."""
        x, settings = self._prepare(inputs, training)
        return self.decoder(x, **settings)

    def _prepare(self, inputs, training):
        """The decoder's input, and the other arguments of its call."""
        names = ("source_ids", "source_lengths", "target_ids")
        source_ids, lengths, target_ids, target_lengths = named(self, inputs, *names, optional="target_lengths")
        mask = length_mask(lengths, ops.shape(source_ids)[1])
        memory = self._encode(source_ids, mask, training)
        x, _ = self.target_entrance.read(target_ids, training=training)
        target_mask = optional_mask(target_lengths, x)
        masks = {"mask": target_mask, "memory": memory, "memory_mask": mask}
        return x, {**masks, "causal": True, "training": training}

    def call(self, inputs, training=None, states=False):
        outputs = self.states(inputs, training)
        states = states or (training and self.returns_states)
        return self.target_embedding.readout(outputs) if states else self.target_embedding.logits(outputs)

    @property
    def source_entrance(self):
        """Where ids of the source enter."""
        return Entrance(self.source_embedding, self.source_positions, self.dropout_layers["source"])

    @property
    def target_entrance(self):
        """Where ids of the target enter."""
        return Entrance(self.target_embedding, self.positions, self.dropout_layers["target"])

    def _encode(self, source_ids, mask, training=None):
        ids = ops.where(mask, source_ids, PAD)
        x, _ = self.source_entrance.read(ids, training=training)  # positions by place need no mask
        return self.encoder(x, mask=mask, training=training)

    def encode(self, source_ids, source_lengths, training=None):
        """`(batch, time)` ids and `(batch,)` lengths -> memory: `mask`, and each block's keys and values as `cross`."""
        mask = length_mask(source_lengths, ops.shape(source_ids)[1])
        return {"cross": self.decoder.remember(self._encode(source_ids, mask, training)), "mask": mask}

    def start(self, memory, beams=1, max_length=None):
        """BOS for every beam `(batch, beams)`, and the state before it; see `zoo.depth.Stack.start`."""
        bound = Positions.of(self.positions).longest
        if bound and max_length and max_length > bound:
            raise ValueError(
                f"max_length={max_length} is too long: the model has positions for {bound} tokens of the target. "
                f"Expected at most {bound}."
            )
        batch = ops.shape(memory["mask"])[0]
        return ops.full((batch, beams), BOS, dtype="int32"), self.decoder.start(batch, beams, max_length)

    def output_rows(self, ids):
        """What `step` needs to give logits of the ids `(n,)` alone."""
        return self.target_embedding.output_columns(ids)

    def step(self, token_ids, state, memory, rows=None, weights=None):
        """`(batch, beams)` last tokens -> logits `(batch, beams, vocabulary)` and the next state.

        With `rows` of `output_rows`, the logits are those of its ids: `(batch, beams, n)`. To `weights`, a list, those
        of the decoder over the source are appended.
        """
        x = self.target_entrance.step(token_ids, state["position"], entries_of(state))
        more = () if weights is None else (weights,)
        x, state = self.decoder.step(x, state, memory["cross"], memory["mask"][:, None, :], *more)
        return self.target_embedding.logits(x, rows), state

    def source_mask(self, memory):
        """`(batch, source_time)` bool: the positions that `aligned_step` weighs.

        Raises:
            ValueError: the decoder does not return its attention.
        """
        if not Depth.of(self.decoder).weighs:
            raise ValueError(
                "A coverage penalty needs the attention of each step over the source, which the "
                f"{type(self.decoder).__name__} of this model does not tell: expected a Stack whose last block has a "
                "MultiHeadAttention over the source. Leave coverage_penalty out."
            )
        return memory["mask"]

    def aligned_step(self, token_ids, state, memory, rows=None):
        """`(logits, state, weights)`: a `step`, and the attention of the last block, the mean of its heads."""
        weights = []
        logits, state = self.step(token_ids, state, memory, rows, weights)
        return logits, state, weights[-1]

    def reorder(self, state, parents):
        """The state whose beam `k` goes on from beam `parents[:, k]`."""
        return self.decoder.reorder(state, parents)

    def signatures(self):
        """The typed table of what this model serves; names are the same in SavedModel, ONNX, client and documents."""
        return signatures.generation()

    def get_config(self):
        config = {"positions": None} if self.places_by_itself else {}
        if self.has_own_embeddings:
            sides = SIDES[self.shared :]  # what both share is the target's
            config |= {
                f"{side}_vocab_size": saving.serialize_keras_object(getattr(self, f"{side}_embedding"))
                for side in sides
            }
        return {**super().get_config(), **config}
