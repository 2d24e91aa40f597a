"""The Depth-Adaptive Transformer: a decoder that writes easy tokens with few of its blocks."""

from functools import partial
from typing import Any

import keras
import numpy as np
from keras import layers, ops

from zoo.attention.cache import entries_of
from zoo.core.masks import length_mask
from zoo.core.protocols import Depth
from zoo.core.registry import register
from zoo.depth.flops import decoder_flops, hidden_units
from zoo.models.transformer import Transformer


@register
class DepthAdaptiveTransformer(Transformer):
    """`p(y_{t+1} | h_t^n) = softmax(W_n LN_n(h_t^n))` at every depth n of the decoder; an exit rule chooses the depth.

    With `tied=True` all `W_n` are the target embedding; else each depth has a matrix of its own.

    Call arguments: as of `Transformer`. Returns: with its exits live, logits `(batch, time, target_vocab_size)`,
    float32; equal to the steps of decoding, where the states of tokens that have left are copied upwards.

    In training, a dict for `zoo.training.DepthAdaptiveLoss`:

    * `logits (batch, K, time, target_vocab_size)`: of all N depths without exits ("aligned"), or of M paths that
      were drawn ("mixed"; `paths` of the decoder),
    * `log_exits (batch, time | 1, N)`: `log q` of a learned rule; absent for others.

    Args:
        source_vocab_size, target_vocab_size: as of `Transformer`.
        encoder: a stack without, `decoder`: a `zoo.depth.DepthAdaptiveStack` with cross-attention, of the same units.
        shared: one embedding matrix for source and target.
        dropout: on the sums of embeddings and positions.
        tied: whether the target embedding is the classifier of every depth.
        seed: of the dropout.
        positions: (by keyword) as of `Transformer`.

    Raises:
        ValueError: as of `Transformer`, a decoder without exits, or `tied=False` beside an embedding whose output is
            more than its own matrix.

    Example:
        >>> import numpy as np
        >>> from zoo.models import DepthAdaptiveTransformer
        >>> from zoo.depth import GeometricExit, make_depth_adaptive_stack, make_stack
        >>> encoder = make_stack(2, units=8, num_heads=2, hidden_units=16)
        >>> decoder = make_depth_adaptive_stack(4, 8, 2, hidden_units=16, exit=GeometricExit(4))
        >>> model = DepthAdaptiveTransformer(11, 13, encoder, decoder)
        >>> batch = {"source_ids": np.ones((2, 5), "int32"), "source_lengths": np.array([5, 3], "int32"),
        ...          "target_ids": np.ones((2, 4), "int32")}
        >>> tuple(model(batch).shape), tuple(model(batch, training=True)["logits"].shape)
        ((2, 4, 13), (2, 4, 4, 13))

    Reference: https://openreview.net/forum?id=SJg7KhVKPH.
    """

    def __init__(
        self,
        source_vocab_size: Any,
        target_vocab_size: Any,
        encoder: Any,
        decoder: Any,
        shared: bool = False,
        dropout: float = 0.1,
        tied: bool = True,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(source_vocab_size, target_vocab_size, encoder, decoder, shared, dropout, seed, **kwargs)
        if not Depth.of(decoder).exits:
            raise ValueError(
                f"DepthAdaptiveTransformer needs a decoder with exits, a DepthAdaptiveStack. Received: "
                f"{type(decoder).__name__}; with that, take a Transformer."
            )
        output = self.target_embedding
        if not tied and (output.output_bias or not output.tied):
            raise ValueError(
                "DepthAdaptiveTransformer with tied=False has a matrix of its own at each depth, so nothing would read "
                f"the output of its embedding. Received: tied={output.tied}, output_bias={output.output_bias}. Take a "
                "plain TokenEmbedding."
            )
        self.tied = tied
        self.classifiers = [
            layers.Dense(
                self.target_vocab_size, use_bias=False, name=f"classifier_{index + 1}", dtype=self.dtype_policy
            )
            for index in range(0 if tied else len(decoder.blocks))
        ]

    def build(self, input_shape=None):
        super().build(input_shape)
        for classifier in self.classifiers:
            classifier.build((None, None, self.decoder.units))

    def classify(self, index, state):
        """Logits of block `index`, float32, of its `LN_n(h^n) (batch, time, units)`."""
        return self.target_embedding.logits(state) if self.tied else ops.cast(self.classifiers[index](state), "float32")

    def call(self, inputs, training=None):
        x, settings = self._prepare(inputs, training)
        if not training:
            return self._leaving_logits(*self.decoder.think(x, **settings, classify=self.classify))
        if self.decoder.paths:
            return {"logits": ops.stack([self._walk_logits(x, settings) for _ in range(self.decoder.paths)], axis=1)}
        states, log_exits = self.decoder.depths(x, **settings)
        logits = ops.stack([self.classify(index, state) for index, state in enumerate(states)], axis=1)
        return {"logits": logits} if log_exits is None else {"logits": logits, "log_exits": log_exits}

    def states(self, inputs, training=None):
        """The states with which the tokens leave, `(batch, time, units)`."""
        x, settings = self._prepare(inputs, training)
        return self.decoder.think(x, **settings, classify=self.classify)[0]

    def _walk_logits(self, x, settings):
        """The logits of one random path."""
        exits = self.decoder.draw_exits(*ops.shape(x)[:2])
        return self._leaving_logits(self.decoder.walk(x, exits, **settings), {"exits": exits})

    def _leaving_logits(self, outputs, thought):
        """The logits of the states with which the tokens left; a matrix that no token needs is not multiplied."""
        if "logits" in thought or self.tied:
            return thought["logits"] if "logits" in thought else self.target_embedding.logits(outputs)
        logits = self.classify(0, outputs)
        for index in range(1, len(self.classifiers)):
            here = thought["exits"] == index + 1
            update = partial(self._choose_logits, index, outputs, here, logits)
            logits = ops.cond(ops.any(here), update, lambda logits=logits: logits)
        return logits

    def _choose_logits(self, index, outputs, here, logits):
        return ops.where(here[:, :, None], self.classify(index, outputs), logits)

    def think(self, inputs):
        """What happened at the depths of a call: see `zoo.depth.DepthAdaptiveStack.think`."""
        x, settings = self._prepare(inputs, training=False)
        return self.decoder.think(x, **settings, classify=self.classify)[1]

    def depth_logits(self, inputs):
        """`(batch, N, time, target_vocab_size)` logits of all depths, without exits and without dropout."""
        x, settings = self._prepare(inputs, training=False)
        states, _ = self.decoder.depths(x, **settings)
        return ops.stack([self.classify(index, state) for index, state in enumerate(states)], axis=1)

    def encode(self, source_ids, source_lengths, training=None):
        """As of `Transformer`; a rule over sequences chooses here, and the memory holds its `exit (batch, 1)`."""
        mask = length_mask(source_lengths, ops.shape(source_ids)[1])
        states = self._encode(source_ids, mask, training)
        memory = {"cross": self.decoder.remember(states), "mask": mask}
        exits = self.decoder.exit.choose(states, mask)
        return memory if exits is None else {**memory, "exit": exits}

    def output_rows(self, ids):
        """Refused: every depth reads logits of the whole vocabulary to decide whether a token leaves.

        Raises:
            ValueError: always.
        """
        raise ValueError(
            "DepthAdaptiveTransformer cannot search over a shortlist: expected a model with one output matrix that is "
            "read once in a step (Seq2Seq, Transformer, or an Ensemble of them). Leave the shortlist out."
        )

    def step(self, token_ids, state, memory):
        """`(batch, beams)` last tokens -> logits `(batch, beams, vocabulary)` and the next state."""
        logits, _, state = self.think_step(token_ids, state, memory)
        return logits, state

    def think_step(self, token_ids, state, memory):
        """`(logits, thought, state)` of a step."""
        x = self.target_entrance.step(token_ids, state["position"], entries_of(state))
        masks = memory["cross"], memory["mask"][:, None, :]
        outputs, thought, state = self.decoder.think_step(x, state, *masks, memory.get("exit"), self.classify)
        return self._leaving_logits(outputs, thought), thought, state

    def report(self, inputs, target_lengths):
        """At which depths the tokens of target texts leave, for example of texts that the model wrote.

        Args:
            inputs: as of a call; `target_ids` is BOS and then the target.
            target_lengths: `(batch,)`: how many tokens to count of each row.

        Returns: a dict of `tokens`, `average_exit`, `shares` (of the tokens, by depth), `flops` and `full_flops`, of
        the blocks for a token (`zoo.depth.flops`), the latter if no token left before the last block.

        Raises:
            ValueError: no token to count, or feed-forward layers that the paper's formula does not cover.
        """
        if not np.sum(target_lengths):
            raise ValueError(f"report needs at least one token. Received: target_lengths={list(target_lengths)}.")
        exits = ops.convert_to_numpy(self.think(inputs)["exits"])
        rows = [row[:length] for row, length in zip(exits, np.asarray(target_lengths), strict=True)]
        exit_depths, stack = np.concatenate(rows), self.decoder
        sizes = len(stack.blocks), stack.units, hidden_units(stack.blocks)
        sources = np.asarray(inputs["source_lengths"]).tolist()

        def flops(rows):
            return sum(decoder_flops(row, *sizes, source) for row, source in zip(rows, sources, strict=True))

        return {
            "tokens": len(exit_depths),
            "average_exit": float(exit_depths.mean()),
            "shares": (np.bincount(exit_depths, minlength=sizes[0] + 1)[1:] / len(exit_depths)).tolist(),
            "flops": flops(rows) / len(exit_depths),
            "full_flops": flops([np.full_like(row, sizes[0]) for row in rows]) / len(exit_depths),
        }

    def with_exit(self, exit):
        """A copy of the model with another exit rule. The weights of the rule are new, all others are copied."""
        config = self.get_config()
        config["decoder"]["config"] |= {"exit": keras.saving.serialize_keras_object(exit), "paths": 0}
        twin = type(self).from_config(config)
        twin.build()
        for ours, theirs in zip(self._parts(), twin._parts(), strict=True):
            theirs.set_weights(ours.get_weights())
        return twin

    def _parts(self):
        """All layers with weights except the exit rule."""
        embeddings = {id(each): each for each in (self.source_embedding, self.target_embedding)}.values()
        norms = [norm for norm in self.decoder.norms if norm is not None]
        return [
            *embeddings,
            self.source_positions,
            self.positions,
            self.encoder,
            *self.decoder.blocks,
            *norms,
            *self.classifiers,
        ]
