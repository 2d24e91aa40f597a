"""Beam search with the length penalty of GNMT (Wu et al. 2016)."""

from keras import ops

from zoo.core.beams import gather_beams
from zoo.decoding.loop import EOS, IMPOSSIBLE, PAD, decode, write
from zoo.decoding.rules import BARRED


def length_penalty(length, alpha):
    """`lp(Y) = ((5 + |Y|) / 6)^alpha`, where |Y| counts EOS. `length` may be an integer tensor."""
    return ops.power((5.0 + ops.cast(length, "float32")) / 6.0, alpha)


def join(first, second):
    """Two pools of hypotheses side by side."""
    return {name: ops.concatenate([first[name], second[name]], axis=1) for name in first}


def best(pool, ranks, beams):
    """The `beams` hypotheses of highest rank, the earlier one among equals."""
    return gather_beams(pool, ops.cast(ops.top_k(ranks, beams)[1], "int32"))


class Beam:
    """`beams` open hypotheses and, in a pool of their own, the `beams` best finished ones.

    At each position the `2 * beams` best continuations are looked at: those that end in EOS compete for the finished
    pool by `log p / lp`, the best others stay open. A sentence is done when its pool is full and no open hypothesis can
    still enter it: `log p <= 0` can only fall, so `log p / lp(max_length)` bounds what its rank may become. A sentence
    that is done does not change while others of the batch go on. Ties go to the earlier finished hypothesis, then to
    the lower beam, then to the lower id.
    """

    def __init__(self, beams, max_length, alpha, rules=None):
        self.beams, self.max_length, self.alpha, self.rules = beams, max_length, alpha, rules

    def begin(self, batch):
        first = ops.arange(self.beams, dtype="int32")[None, :] == 0
        nothing = ops.full((batch, self.beams), IMPOSSIBLE, dtype="float32")
        tokens = ops.full((batch, self.beams, self.max_length), PAD, dtype="int32")
        return {
            "tokens": tokens,
            "log_probs": ops.where(first, 0.0, nothing),
            "ended": {
                "tokens": tokens,
                "lengths": ops.zeros((batch, self.beams), dtype="int32"),
                "scores": nothing,
            },
        }

    def done(self, hypotheses):
        reachable = hypotheses["log_probs"][:, 0] / length_penalty(self.max_length, self.alpha)
        return reachable <= hypotheses["ended"]["scores"][:, -1]

    def advance(self, position, logits, hypotheses):
        vocabulary = ops.shape(logits)[-1]  # a number, or a tensor where a shortlist decides it
        log_probs, before = ops.log_softmax(logits, axis=-1), hypotheses["log_probs"][:, :, None]
        if self.rules:
            before = before + self.rules(position, log_probs, hypotheses["tokens"])
        totals = log_probs + before
        totals = ops.reshape(totals, (-1, self.beams * vocabulary))
        totals, flat = ops.top_k(totals, self.beams if logits.shape[-1] == 1 else 2 * self.beams)
        flat = ops.cast(flat, "int32")
        parents, token = flat // vocabulary, flat % vocabulary
        prefixes = gather_beams(hypotheses["tokens"], parents)
        ends = token == EOS

        score = totals / length_penalty(position + 1, self.alpha)
        real = ops.logical_and(ends, totals > IMPOSSIBLE / 2)
        new = {
            "tokens": prefixes,
            "lengths": ops.where(real, position, 0),
            "scores": ops.where(real, score, IMPOSSIBLE),
        }
        pool = join(hypotheses["ended"], new)

        open_, which = ops.top_k(ops.where(ends, BARRED, totals), self.beams)
        which = ops.cast(which, "int32")
        kept = gather_beams({"parents": parents, "token": token, "tokens": prefixes}, which)
        return (
            kept["token"],
            {
                "tokens": write(kept["tokens"], position, kept["token"]),
                "log_probs": open_,
                "ended": best(pool, pool["scores"], self.beams),
            },
            kept["parents"],
        )

    def finish(self, hypotheses):
        """The pool; where it is not full, hypotheses cut off by `max_length` follow, ranked after all finished ones."""
        ended, totals = hypotheses["ended"], hypotheses["log_probs"]
        real = totals > IMPOSSIBLE / 2
        score = totals / length_penalty(self.max_length, self.alpha)
        cut = {
            "tokens": hypotheses["tokens"],
            "lengths": ops.where(real, self.max_length, 0),
            "scores": ops.where(real, score, IMPOSSIBLE),
        }
        # Both are in order already. Places are whole numbers, so that their order is exact.
        place = ops.arange(2 * self.beams, dtype="float32")[None, :]
        empty = ops.concatenate([ended["scores"], cut["scores"]], axis=1) <= IMPOSSIBLE
        found = best(join(ended, cut), -ops.where(empty, place + 2 * self.beams, place), self.beams)
        inside = ops.arange(self.max_length, dtype="int32") < found["lengths"][:, :, None]
        return ops.where(inside, found["tokens"], PAD), found["lengths"], found["scores"]


def beam_search(model, memory, max_length, beams=4, alpha=0.6, growing=False, rules=None):
    """Beam search over the step protocol, best hypothesis first.

    `score(Y) = log p(Y | x) / ((5 + |Y|) / 6)^alpha`, |Y| counting EOS. `alpha = 0` compares log-probabilities.
    `rules`, a `zoo.decoding.rules.Rules`, change log p, token by token.

    Returns: `token_ids (batch, beams, max_length)` int32 without EOS and PAD after the end, `lengths (batch, beams)`
    int32, `scores (batch, beams)` float32; a place without a hypothesis has length 0 and score -1e9. Hypotheses that
    `max_length` cut off come behind all that have ended.

    Raises:
        ValueError: `alpha` is negative (an open hypothesis could then not be bounded).

    Reference: https://arxiv.org/abs/1609.08144, section 7 (without its coverage penalty).
    """
    if alpha < 0:
        raise ValueError(f"The length penalty's alpha must be >= 0. Received: {alpha!r}.")
    return decode(model, memory, Beam(beams, max_length, alpha, rules), beams, max_length, growing)
