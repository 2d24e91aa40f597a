"""A language model: a causal stack that continues a text."""

from typing import Any

import keras
from keras import ops, tree

from zoo.attention.cache import entries_of
from zoo.core.dropout import Dropout
from zoo.core.masks import optional_mask
from zoo.core.protocols import Positions
from zoo.core.registry import build_parts, register
from zoo.decoding.loop import BOS
from zoo.embeddings import Entrance, positions_before
from zoo.models import signatures
from zoo.models.shared import InsideKeras, check_direction, make_embedding, named


@register
class LanguageModel(InsideKeras, keras.Model):
    """`p(x_t | x_<t) = softmax(E h_t)`, `h = decoder(E x + P)`, where each position sees itself and earlier ones.

    A text begins with BOS. In the step protocol the prompt is the source: `encode` reads all but its last token, which
    `start` gives as the first one to feed.

    Call arguments: a dict of `token_ids (batch, time)` int32, BOS and then the text; and `lengths (batch,)` int32, BOS
    included, if the attention sorts its positions (LSH), so that padding is told from text.
    Returns: logits `(batch, time, vocab_size)`, float32; with `states=True` `(h, E)` instead.
    Masking: other attentions need none, because a position sees nothing after it.

    Args:
        vocab_size: number of token ids.
        decoder: a stack without cross-attention (`zoo.depth.make_stack`).
        positions: a layer of `zoo.embeddings`; None is `SinusoidalPositions`. `LearnedPositions(n)` bound the text: of
            a prompt the last `n // 2` tokens are read, and at most `n - n // 2` more are written.
        dropout: on the sum of embeddings and positions.
        seed: of the dropout.
        embedding: a layer with an output, of the decoder's units and for `vocab_size` ids; None is `TokenEmbedding`.

    Raises:
        ValueError: `decoder` or `positions` look ahead, or an embedding of other sizes or without an output.

    Example:
        >>> import numpy as np
        >>> from zoo.models import LanguageModel
        >>> from zoo.depth import make_stack
        >>> model = LanguageModel(11, make_stack(2, units=8, num_heads=2, hidden_units=16))
        >>> tuple(model({"token_ids": np.ones((2, 5), "int32")}).shape)
        (2, 5, 11)

    Reference: https://arxiv.org/abs/1801.10198 (decoder-only Transformer).
    """

    def __init__(
        self,
        vocab_size: int,
        decoder: Any,
        positions: Any = None,
        dropout: float = 0.1,
        seed: int | None = None,
        embedding: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_direction(self, decoder, "causal")
        if positions is not None and not Positions.of(positions).by_place:
            raise ValueError(
                "A LanguageModel's positions must not look ahead: expected SinusoidalPositions or LearnedPositions, "
                f"which depend on the place alone (by_place). Received: {type(positions).__name__}."
            )
        self.vocab_size, self.decoder, self.dropout, self.seed = vocab_size, decoder, dropout, seed
        policy = self.dtype_policy
        self.embedding = make_embedding(self, vocab_size if embedding is None else embedding, decoder)
        if self.embedding.vocab_size != vocab_size:
            raise ValueError(
                f"A LanguageModel of vocab_size={vocab_size} cannot have an embedding of {self.embedding.vocab_size} "
                "ids. Give both the same number."
            )
        self.positions = positions or positions_before(decoder, policy)
        self.dropout_layer = Dropout(dropout, seed=seed, dtype=policy)

    def build(self, input_shape=None):
        build_parts([self.embedding, self.positions, self.decoder], (None, None, self.decoder.units))

    def states(self, inputs, training=None):
        """The decoder's states `h`, `(batch, time, units)`."""
        token_ids, lengths = named(self, inputs, "token_ids", optional="lengths")
        x, _ = self.entrance.read(token_ids, training=training)
        mask = optional_mask(lengths, x)
        return self.decoder(x, mask=mask, causal=True, training=training)

    def call(self, inputs, training=None, states=False):
        outputs = self.states(inputs, training)
        states = states or (training and self.returns_states)
        return self.embedding.readout(outputs) if states else self.embedding.logits(outputs)

    @property
    def entrance(self):
        """Where token ids enter."""
        return Entrance(self.embedding, self.positions, self.dropout_layer)

    @property
    def longest_text(self):
        """The number of positions of a text, prompt and all; None is no bound."""
        return Positions.of(self.positions).longest

    @property
    def longest_prompt(self):
        """The number of a prompt's last tokens that are read; None is all."""
        return self.longest_text and self.longest_text // 2

    def encode(self, source_ids, source_lengths, training=None):
        """A prompt `(batch, time)` without BOS, and its lengths -> the keys and values of all but its last token."""
        source_ids, lengths = self._last_part(source_ids, ops.cast(source_lengths, "int32"))
        token_ids = ops.pad(source_ids, ((0, 0), (1, 0)), constant_values=BOS)
        last = ops.take_along_axis(token_ids, lengths[:, None], axis=1)
        x, _ = self.entrance.read(token_ids[:, :-1])
        return {"caches": self.decoder.prefill(x), "last": last, "lengths": lengths}

    def _last_part(self, token_ids, lengths):
        """The last `longest_prompt` tokens of each row."""
        longest = self.longest_prompt
        if longest is None:
            return token_ids, lengths
        time = ops.shape(token_ids)[1]  # dynamic in a graph for all lengths, in which caches may grow
        width = min(longest, time) if isinstance(time, int) else ops.minimum(longest, time)
        first = ops.maximum(lengths - longest, 0)[:, None]
        places = ops.minimum(first + ops.arange(width, dtype="int32"), time - 1)
        return ops.take_along_axis(token_ids, places, axis=1), ops.minimum(lengths, longest)

    def start(self, memory, beams=1, max_length=None):
        """The prompt's last token, or BOS, for every beam `(batch, beams)`, and the state before it."""
        bound = self.longest_text
        room = bound and bound - self.longest_prompt
        if room and max_length and max_length > room:
            raise ValueError(
                f"max_length={max_length} is too long: a model of {bound} learned positions "
                f"reads the last {self.longest_prompt} tokens of a prompt and writes at most {room}."
            )
        lengths = memory["lengths"]
        time = ops.shape(tree.flatten(memory["caches"])[0])[-2]
        mask = ops.arange(time, dtype="int32")[None, :] < lengths[:, None]
        state = self.decoder.start(ops.shape(lengths)[0], beams, max_length, prompt=(memory["caches"], mask))
        return ops.repeat(memory["last"], beams, axis=1), {**state, "offset": lengths}

    def step(self, token_ids, state, memory=None):
        """`(batch, beams)` last tokens -> logits `(batch, beams, vocabulary)` and the next state; reads no memory."""
        x = self.entrance.step(token_ids, state["offset"] + state["position"], entries_of(state))
        x, following = self.decoder.step(x, state)
        return self.embedding.logits(x), {**following, "offset": state["offset"]}

    def reorder(self, state, parents):
        """The state whose beam `k` goes on from beam `parents[:, k]`."""
        return self.decoder.reorder(state, parents)

    def signatures(self):
        """The typed table of what this model serves; names are the same in SavedModel, ONNX, client and documents."""
        return signatures.language_model()
