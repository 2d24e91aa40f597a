"""The coverage penalty of GNMT (Wu et al. 2016): a translation that leaves parts of its source out ranks lower."""

from typing import Protocol, runtime_checkable

from keras import ops

LEAST = 1e-30  # a position that got less attention than this is taken for one that got so much: log 0 is no number


@runtime_checkable
class AlignedSteps(Protocol):
    """What a model has besides the step protocol so that a search can tell which parts of the source are covered."""

    def source_mask(self, memory):
        """`(batch, source time)` bool, True = a position of the source.

        Raises:
            ValueError: the settings of this model give no attention over the source.
        """

    def aligned_step(self, token_ids, state, memory, rows=None):
        """`(logits, state, weights)`: a `step`, and its attention over the source `(batch, beams, source time)`."""


def uncovered(model, memory, beams):
    """What is covered of the source before the first step, `(batch, beams, source time)`: padding alone.

    Raises:
        ValueError: the model has no attention over a source, or cannot tell it step by step.
    """
    if not isinstance(model, AlignedSteps):
        raise ValueError(
            f"{type(model).__name__} has no coverage penalty: expected a model that reads one text, writes another and "
            "tells its attention over the source in each step (Seq2Seq, Transformer, or an Ensemble of them). Leave "
            "coverage_penalty out."
        )
    padding = 1.0 - ops.cast(model.source_mask(memory), "float32")
    return ops.repeat(padding[:, None, :], beams, axis=1)


def coverage_penalty(covered, beta):
    """`cp(X; Y) = beta * sum_i log(min(sum_j p_ij, 1))`, `(batch, beams)`.

    Args:
        covered: `(batch, beams, source time)`, `sum_j p_ij` where `p_ij` is the attention of token j to position i.
        beta: `(batch or 1, 1)`.
    """
    return beta * ops.sum(ops.log(ops.clip(covered, LEAST, 1.0)), axis=-1)
