"""Search over a shortlist: of each source, only the target ids that a table names for its pieces can be written.

The product with the output matrix, the softmax and the choice of the best are what a small model spends most of a step
on, and all three are as wide as the vocabulary. A table of the likeliest target ids of each source id makes them as
wide as what the sentences of a batch may say.

Reference: https://arxiv.org/abs/1412.2007 (Jean et al. 2015), whose decoder has candidate lists by source word; Marian
and Bergamot translate with such lists.
"""

from typing import Protocol, runtime_checkable

import numpy as np
from keras import ops

from zoo.core.masks import length_mask
from zoo.core.searching import OURS
from zoo.decoding.beam import beam_search
from zoo.decoding.loop import EOS, IMPOSSIBLE, SHARED
from zoo.decoding.sampling import greedy

SPECIAL = EOS + 1  # PAD, UNK, BOS and EOS: the ids that every vocabulary begins with


@runtime_checkable
class NarrowSteps(Protocol):
    """What a model has besides the step protocol so that its search can be narrowed to a shortlist."""

    source_vocab_size: int
    target_vocab_size: int

    def output_rows(self, ids):
        """What `step(token_ids, state, memory, rows)` takes as `rows` to give logits of the ids `(n,)` alone."""


def allowed(table, always, source_ids, source_lengths):
    """`(batch, vocabulary)` float32: 1 where an id may be written for the source, and else 0.

    An id may be written if it is one of `always`, or stands in `table[x_t]` of a position t within the source's length.

    Args:
        table: `(source vocabulary, width)` int32, target ids.
        always: `(vocabulary,)` of 1 and 0.
        source_ids: `(batch, time)` int32. source_lengths: `(batch,)` int32.
    """
    batch, time = ops.shape(source_ids)
    inside = length_mask(source_lengths, time)
    # EOS is always allowed, so it stands for no id: behind the end, and where a row of the table is not full.
    vocabulary = len(always)
    table = ops.convert_to_tensor(np.asarray(table, "uint16" if vocabulary <= 1 << 16 else "int32"))
    ids = ops.where(inside[:, :, None], ops.cast(ops.take(table, source_ids, axis=0), "int32"), EOS)
    places = ops.arange(batch, dtype="int32")[:, None, None] * vocabulary + ids
    places = ops.reshape(places, (-1, 1))
    base = ops.tile(ops.convert_to_tensor(np.asarray(always, "float32")), (batch,))
    marked = ops.scatter_update(base, places, ops.ones_like(places[:, 0], dtype="float32"))
    return ops.reshape(marked, (-1, vocabulary))


class Shortlisted:
    """The step protocol of a model, over the places of a shortlist instead of the ids of its vocabulary.

    With `A_b` the ids that `allowed` has for source b, the candidates are the union of all `A_b` in ascending order,
    `c_0 < c_1 < ...`, and for each source `p(c_i | y, x) = softmax_i(logits_{c_i})` over the `i` with `c_i` in `A_b`:
    so no other source of the batch changes an answer. Where all ids are allowed, it is the model.

    The search sees places i as its tokens. PAD, UNK, BOS and EOS are always allowed and come first, so each is its own
    place and a strategy needs to know of nothing; `ids` turns what it has written into ids of the vocabulary. The rows
    of the output matrix are gathered once for a batch, before the loop. It is for graphs of TensorFlow and ONNX: the
    number of candidates depends on the batch, which XLA does not take.

    Args:
        model: it has the step protocol, with `output_rows` and `step(..., rows)` (`NarrowSteps`).
        table: `(source vocabulary, width)` int32, ids of the target; EOS fills rows that have fewer.
        always: ids that may always be written, besides the four special ones.
        growing: how caches grow, see `zoo.decoding.loop.decode`.

    Raises:
        ValueError: the model cannot be narrowed, the table is no matrix with a row for each source id, or an id is not
            in the target vocabulary.

    Example:
        >>> import numpy as np
        >>> from zoo.decoding.shortlist import Shortlisted, search
        >>> from zoo.models import Seq2Seq
        >>> model = Seq2Seq(11, 13, units=8)
        >>> model.build()
        >>> table = np.array([[5, 7]] * 11, "int32")
        >>> source = np.ones((2, 5), "int32"), np.array([5, 3], "int32")
        >>> ids, lengths, scores = search(Shortlisted(model, table), *source, 6, beams=2)
        >>> set(np.unique(ids)) <= {0, 1, 2, 3, 5, 7}
        True
    """

    def __init__(self, model, table, always=(), growing=True):
        if not isinstance(model, NarrowSteps):
            raise ValueError(
                f"{type(model).__name__} cannot search over a shortlist: expected a model that reads one text and "
                "writes another, and has `output_rows` (Seq2Seq, Transformer, or an Ensemble of them). Leave the "
                "shortlist out."
            )
        table, always = np.asarray(table, "int32"), np.asarray(always, "int32").reshape(-1)
        sizes = model.source_vocab_size, model.target_vocab_size
        if table.ndim != 2 or len(table) != sizes[0]:
            raise ValueError(
                f"A shortlist's table has a row for each of the {sizes[0]} source ids: expected the shape ({sizes[0]}, "
                f"width), received {table.shape}. Estimate it with the tokenizers of this model."
            )
        named = np.concatenate([table.reshape(-1), always])
        if named.size and not 0 <= named.min() <= named.max() < sizes[1]:
            raise ValueError(
                f"A shortlist names target ids: expected 0 to {sizes[1] - 1}, received {named.min()} to {named.max()}. "
                "Estimate it with the tokenizers of this model."
            )
        self.model, self.growing = model, growing
        self.table, self.always = table, np.zeros(sizes[1], "float32")
        self.always[np.concatenate([np.arange(SPECIAL), always])] = 1

    def encode(self, source_ids, source_lengths, forced=None):
        """The memory of the model, `barred (batch, 1, candidates)`, and for all rows `ids (candidates,)` and `rows`.

        The ids `forced (batch or 1, places)`, of which -1 is none, may be written, too.
        """
        may = allowed(self.table, self.always, source_ids, source_lengths)
        if forced is not None:
            named = forced[:, :, None] == ops.arange(len(self.always), dtype="int32")
            may = ops.maximum(may, ops.cast(ops.any(named, axis=1), "float32"))
        ids = ops.cast(ops.nonzero(ops.max(may, axis=0))[0], "int32")
        barred = (1.0 - ops.take(may, ids, axis=1)) * IMPOSSIBLE
        return {
            "model": self.model.encode(source_ids, source_lengths),
            "barred": barred[:, None, :],
            SHARED: {"ids": ids, "rows": self.model.output_rows(ids)},
        }

    def start(self, memory, beams=1, max_length=None):
        """As of the model."""
        return self.model.start(memory["model"], beams, max_length)

    def step(self, token_ids, state, memory):
        """`(batch, beams)` places -> logits `(batch, beams, candidates)` and the next state."""
        written = ops.take(memory[SHARED]["ids"], token_ids, axis=0)
        logits, state = self.model.step(written, state, memory["model"], memory[SHARED]["rows"])
        return ops.cast(logits, "float32") + memory["barred"], state

    def source_mask(self, memory):
        """As of the model."""
        return self.model.source_mask(memory["model"])

    def aligned_step(self, token_ids, state, memory):
        """As `step`, with the model's attention over the source."""
        written = ops.take(memory[SHARED]["ids"], token_ids, axis=0)
        logits, state, weights = self.model.aligned_step(written, state, memory["model"], memory[SHARED]["rows"])
        return ops.cast(logits, "float32") + memory["barred"], state, weights

    def reorder(self, state, parents):
        """As of the model."""
        return self.model.reorder(state, parents)


def search(shortlisted, source_ids, source_lengths, max_length, beams=4, alpha=0.6, rules=None, ranking=OURS):
    """`beam_search`, or `greedy` with one beam, over a shortlist; ids, lengths and scores as these return them.

    Caches grow. Ids that the `Fixed` rules force must be among those that the shortlist always allows.
    """
    forced = None if rules is None else rules.on.get("forced_tokens")
    memory = shortlisted.encode(source_ids, source_lengths, forced)
    rules = None if rules is None else rules.among(memory[SHARED]["ids"])
    if beams == 1:
        places, *results = greedy(shortlisted, memory, max_length, shortlisted.growing, rules)
    else:
        bounds = max_length, beams, alpha, shortlisted.growing
        places, *results = beam_search(shortlisted, memory, *bounds, rules, ranking)
    return ops.take(memory[SHARED]["ids"], places, axis=0), *results
