"""Greedy decoding: the most probable token at every step."""

from keras import ops

from zoo.decoding.loop import EOS, PAD, decode, write


class Greedy:
    """`y_i = argmax_v p(v | y_<i, x)`; ties go to the lowest id. A row that has met EOS is frozen."""

    def __init__(self, max_length):
        self.max_length = max_length

    def begin(self, batch):
        return {
            "tokens": ops.full((batch, 1, self.max_length), PAD, dtype="int32"),
            "lengths": ops.zeros((batch, 1), dtype="int32"),
            "scores": ops.zeros((batch, 1), dtype="float32"),
            "finished": ops.zeros((batch, 1), dtype="bool"),
        }

    def done(self, hypotheses):
        return hypotheses["finished"][:, 0]

    def advance(self, position, log_probs, hypotheses):
        gain, token = ops.top_k(log_probs, 1)
        gain, token = gain[..., 0], ops.cast(token[..., 0], "int32")
        running = ops.logical_not(hypotheses["finished"])
        grows = ops.logical_and(running, token != EOS)
        tokens = write(hypotheses["tokens"], position, ops.where(grows, token, PAD))
        return (
            token,
            {
                "tokens": tokens,
                "lengths": hypotheses["lengths"] + ops.cast(grows, "int32"),
                "scores": hypotheses["scores"] + ops.where(running, gain, 0.0),
                "finished": ops.logical_or(hypotheses["finished"], token == EOS),
            },
            None,
        )

    def finish(self, hypotheses):
        return hypotheses["tokens"], hypotheses["lengths"], hypotheses["scores"]


def greedy(model, memory, max_length):
    """Greedy decoding over the step protocol.

    Returns: `token_ids (batch, 1, max_length)` int32 without EOS and PAD after the end, `lengths (batch, 1)` int32, and
    `scores (batch, 1)`: the log-probability of the tokens, EOS included if it was reached.
    """
    return decode(model, memory, Greedy(max_length), 1, max_length)
