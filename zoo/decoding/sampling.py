"""Decoding of rows that know nothing of each other: the most probable token at every step, or one at random.

Sampling is from the whole distribution or from its likely part.
"""

import numpy as np
from keras import ops

from zoo.decoding.loop import EOS, PAD, Strategy, decode, write

COLDEST = 1e-6  # a temperature of 0 is taken for this: the most probable token


class Greedy(Strategy):
    """`y_i = argmax_v p(v | y_<i, x)`; ties go to the lowest id. A row that has written EOS does not change any more.

    Rows are `(batch, width)` and independent of each other; a subclass with another `choose` is another strategy.

    Raises:
        ValueError: the rules have a coverage penalty, for which there is nothing to rank.
    """

    aligned = False

    def __init__(self, max_length, width=1, rules=None):
        if rules is not None and rules.coverage is not None:
            raise ValueError(
                "A coverage penalty ranks the hypotheses of a beam search; greedy decoding and sampling rank none. "
                "Leave coverage_penalty out, or search with two beams or more."
            )
        self.max_length, self.width, self.rules = max_length, width, rules

    def choose(self, position, logits):
        """`(log_probs, token_ids)` `(batch, width)` of float32 logits `(batch, width, vocabulary)`."""
        gain, token = ops.top_k(ops.log_softmax(logits, axis=-1), 1)
        return gain[..., 0], ops.cast(token[..., 0], "int32")

    def begin(self, batch):
        return {
            "tokens": ops.full((batch, self.width, self.max_length), PAD, dtype="int32"),
            "lengths": ops.zeros((batch, self.width), dtype="int32"),
            "scores": ops.zeros((batch, self.width), dtype="float32"),
            "finished": ops.zeros((batch, self.width), dtype="bool"),
        }

    def done(self, hypotheses):
        return ops.all(hypotheses["finished"], axis=1)

    def advance(self, position, logits, hypotheses):
        if self.rules:
            logits = self.rules.allowed(logits)
            changed = logits + self.rules(position, logits, hypotheses["tokens"])
            logits = ops.reshape(changed, (-1, self.width, ops.shape(logits)[-1]))  # a condition hides the sizes
        gain, token = self.choose(position, logits)
        ended = hypotheses["finished"]
        finished = ops.logical_or(ended, token == EOS)
        grows = ops.logical_not(finished)
        tokens = write(hypotheses["tokens"], position, ops.where(grows, token, PAD))
        return (
            token,
            {
                "tokens": tokens,
                "lengths": hypotheses["lengths"] + ops.cast(grows, "int32"),
                "scores": hypotheses["scores"] + ops.where(ended, 0.0, gain),
                "finished": finished,
            },
            None,
        )

    def finish(self, hypotheses):
        return hypotheses["tokens"], hypotheses["lengths"], hypotheses["scores"]


def greedy(model, memory, max_length, growing=False, rules=None):
    """Greedy decoding over the step protocol; `rules`, a `zoo.decoding.rules.Rules`, change the logits.

    Returns: `token_ids (batch, 1, max_length)` int32 without EOS and PAD after the end, `lengths (batch, 1)` int32, and
    `scores (batch, 1)`: the log-probability of the tokens, EOS included if it was reached.
    """
    return decode(model, memory, Greedy(max_length, rules=rules), 1, max_length, growing)


def uniforms(seed, rows, samples, max_length):
    """`(rows, samples, max_length)` float32 in [0, 1).

    Row `i` depends on `(seed, i)` alone, and a longer one begins with the same numbers.
    """
    drawn = [
        np.random.default_rng((seed, row, sample)).random(max_length, dtype="float32")
        for row in range(rows)
        for sample in range(samples)
    ]
    return np.reshape(np.array(drawn, "float32"), (rows, samples, max_length))


def column(value, dtype):
    """A number, or one for each row, against `(batch, samples, vocabulary)`."""
    value = ops.cast(ops.convert_to_tensor(value), dtype)
    return ops.reshape(value, (-1, 1, 1))


class Sample(Greedy):
    """`y_i = F^-1(u_i)`, `F` the cumulated probabilities of the candidates, most probable first.

    Candidates are what both filters leave: the `top_k` most probable tokens, and the fewest tokens whose probabilities
    add up to `top_p` or more. Filters see the distribution at the given temperature; scores are the model's own
    log-probabilities.
    """

    of_rows = "uniforms", "temperature", "top_k", "top_p"

    def __init__(self, uniforms, temperature, top_k, top_p, rules=None):
        super().__init__(uniforms.shape[2], uniforms.shape[1], rules)
        self.uniforms = ops.convert_to_tensor(uniforms)
        self.temperature = ops.maximum(column(temperature, "float32"), COLDEST)
        self.top_k, self.top_p = column(top_k, "int32"), column(top_p, "float32")

    def choose(self, position, logits):
        log_probs, ids = ops.top_k(ops.log_softmax(logits, axis=-1), logits.shape[-1])
        weights = self._filtered(ops.softmax(log_probs / self.temperature, axis=-1))
        reached = ops.cumsum(weights, axis=-1)
        goal = ops.take(self.uniforms, position, axis=2) * reached[:, :, -1]
        # The first candidate always stays. OpenVINO computes "number of candidates - 1" wrongly in batches.
        last = ops.sum(ops.cast(weights[:, :, 1:] > 0, "int32"), axis=-1)
        rank = ops.sum(ops.cast(reached <= goal[:, :, None], "int32"), axis=-1)
        rank = ops.minimum(rank, last)[:, :, None]
        token = ops.take_along_axis(ops.cast(ids, "int32"), rank, axis=-1)[:, :, 0]
        chosen = ops.take_along_axis(log_probs, rank, axis=-1)[:, :, 0]
        return chosen, token

    def _filtered(self, probabilities):
        """The probabilities, 0 where a filter drops the token; the first one always stays."""
        rank = ops.arange(probabilities.shape[-1], dtype="int32")
        before = ops.cumsum(probabilities, axis=-1) - probabilities
        few = ops.logical_or(self.top_k == 0, rank < self.top_k)
        kept = ops.logical_or(rank == 0, ops.logical_and(few, before < self.top_p))
        return ops.where(kept, probabilities, 0.0)


def sample(model, memory, max_length, uniforms, temperature=1.0, top_k=0, top_p=1.0, growing=False):
    """Sampling over the step protocol. All randomness is in `uniforms`, one number for each token.

    Therefore the same numbers give the same tokens in every engine, whatever else is in the batch.

    Args:
        model, memory, max_length, growing: see `zoo.decoding.loop.decode`.
        uniforms: `(batch, samples, max_length)` float32 in [0, 1), for example from `zoo.decoding.uniforms`.
        temperature: divides the logits; 0 is greedy. A number, or `(batch,)`.
        top_k: only the k most probable tokens; 0 takes all. A number, or `(batch,)`.
        top_p: only the most probable tokens that make up this probability ("nucleus"). A number, or `(batch,)`.

    Returns: `token_ids (batch, samples, max_length)`, `lengths (batch, samples)`, `scores (batch, samples)`.

    Raises:
        ValueError: `uniforms` has another shape, or a number is out of its range.

    References: top-k: https://arxiv.org/abs/1805.04833; top-p: https://arxiv.org/abs/1904.09751.
    """
    if len(uniforms.shape) != 3 or uniforms.shape[2] != max_length or uniforms.shape[1] is None:
        raise ValueError(
            f"uniforms must be (batch, samples, {max_length}), where max_length={max_length}, the last two static. "
            f"Received the shape {tuple(uniforms.shape)}."
        )
    for name, value, good in (
        ("temperature", temperature, lambda v: v >= 0),
        ("top_k", top_k, lambda v: v >= 0 and v == int(v)),
        ("top_p", top_p, lambda v: 0 < v <= 1),
    ):
        if isinstance(value, (int, float)) and not good(value):
            raise ValueError(
                f"{name} is out of range: expected temperature >= 0, a whole top_k >= 0 (0 takes all) and "
                f"0 < top_p <= 1. Received {name}={value!r}."
            )
    strategy = Sample(uniforms, temperature, top_k, top_p)
    return decode(model, memory, strategy, strategy.width, max_length, growing)
