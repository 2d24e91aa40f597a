"""Greedy decoding: the most probable token at every step."""

from keras import ops

from zoo.decoding.loop import EOS, PAD, Strategy, decode, write


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
