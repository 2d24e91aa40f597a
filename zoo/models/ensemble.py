"""Several models of one task that answer as one."""

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from zoo.core.registry import build_parts, register
from zoo.models import signatures
from zoo.models.shared import InsideKeras


@register
class Ensemble(InsideKeras, keras.Model):
    """`log p(y_j | y_<j, x) = 1/n sum_i log p_i(y_j | y_<j, x)`, up to the constant that makes it a distribution.

    The members read the same source and go through the search side by side: in every step each gives its logits, and
    what the search sees is the mean of their log-probabilities. So an ensemble is one model to a search, and one graph
    in an export. It is not trained: train the members.

    Call arguments, masking and the step protocol are those of the members; memory and state are dicts with an entry for
    each member. Cost: the sum of the members'.

    Args:
        members: at least two models of the same vocabularies that write, such as `Seq2Seq` or `Transformer`.

    Raises:
        ValueError: fewer than two members, or members of other vocabularies.

    Example:
        >>> import numpy as np
        >>> from zoo.models import Ensemble, Seq2Seq
        >>> model = Ensemble([Seq2Seq(11, 13, units=8, cell=cell) for cell in ("gru", "lstm")])
        >>> batch = {"source_ids": np.ones((2, 5), "int32"), "source_lengths": np.array([5, 3], "int32"),
        ...          "target_ids": np.ones((2, 4), "int32")}
        >>> tuple(model(batch).shape)
        (2, 4, 13)

    Reference: the ensembles of https://arxiv.org/abs/1409.3215, section 3.6.
    """

    def __init__(self, members: Sequence[Any], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if len(members) < 2:
            raise ValueError(f"An Ensemble needs at least two members. Received: {len(members)}.")
        sizes = {(each.source_vocab_size, each.target_vocab_size) for each in members}
        if len(sizes) > 1:
            raise ValueError(
                "The members of an Ensemble share their vocabularies. Received: (source, target) of "
                f"{', '.join(map(str, sorted(sizes)))}. Train them on the same data with the same [text]."
            )
        self.members = list(members)
        ((self.source_vocab_size, self.target_vocab_size),) = sizes

    def build(self, input_shape=None):
        build_parts(self.members)

    def call(self, inputs, training=None):
        return _mean([each(inputs, training=training) for each in self.members])

    def encode(self, source_ids, source_lengths, training=None):
        """`(batch, time)` ids and `(batch,)` lengths -> memory, a dict with that of each member."""
        return {name: each.encode(source_ids, source_lengths, training) for name, each in self._named_members()}

    def start(self, memory, beams=1, max_length=None):
        """BOS for every beam `(batch, beams)`, and the state before it, a dict with that of each member."""
        starts = {name: each.start(memory[name], beams, max_length) for name, each in self._named_members()}
        first_ids, _ = next(iter(starts.values()))
        return first_ids, {name: state for name, (_, state) in starts.items()}

    def output_rows(self, ids):
        """What `step` needs to give log-probabilities of the ids `(n,)` alone, a dict with that of each member."""
        return {name: each.output_rows(ids) for name, each in self._named_members()}

    def step(self, token_ids, state, memory, rows=None):
        """`(batch, beams)` last tokens -> mean log-probabilities `(batch, beams, vocabulary)` and the next state.

        With `rows` of `output_rows`, they are those of its ids: `(batch, beams, n)`.
        """
        return self._side_by_side("step", token_ids, state, memory, rows)[:2]

    def source_mask(self, memory):
        """`(batch, source_time)` bool: the positions that `aligned_step` weighs.

        Raises:
            ValueError: a member cannot tell its attention.
        """
        return [each.source_mask(memory[name]) for name, each in self._named_members()][0]

    def aligned_step(self, token_ids, state, memory, rows=None):
        """`(logits, state, weights)`: a `step`, and the mean of the members' attention over the source."""
        logits, state, weights = self._side_by_side("aligned_step", token_ids, state, memory, rows)
        return logits, state, ops.mean(ops.stack(weights), axis=0)

    def _side_by_side(self, method, token_ids, state, memory, rows):
        """Mean log-probabilities and the next state by a method of the members, and what else each of them gives."""
        rows = rows or {}
        results = [
            (name, *getattr(each, method)(token_ids, state[name], memory[name], rows.get(name)))
            for name, each in self._named_members()
        ]
        names, logits, states, *others = zip(*results, strict=True)
        return _mean(logits), dict(zip(names, states, strict=True)), *others

    def reorder(self, state, parents):
        """The state whose beam `k` goes on from beam `parents[:, k]`."""
        return {name: each.reorder(state[name], parents) for name, each in self._named_members()}

    def signatures(self):
        """The typed table of what this model serves."""
        return signatures.generation()

    def _named_members(self):
        return [(f"member_{number}", each) for number, each in enumerate(self.members)]


def _mean(logits):
    """The mean of the log-probabilities that logits `(..., vocabulary)` stand for."""
    return ops.mean(ops.stack([ops.log_softmax(each, axis=-1) for each in logits]), axis=0)
