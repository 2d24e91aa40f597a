"""Beam search with the length penalty and the coverage penalty of GNMT (Wu et al. 2016).

By the coverage penalty a translation that leaves parts of its source out ranks lower.
"""

from typing import Protocol, runtime_checkable

import numpy as np
from keras import ops

from zoo.core.searching import OURS
from zoo.core.tensors import gather_beams
from zoo.decoding.loop import EOS, IMPOSSIBLE, PAD, Strategy, decode, write
from zoo.decoding.written import BARRED, at_most, highest

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


UNWRITTEN = -1  # in the place of a token


def length_penalty(length, alpha, kind="gnmt"):
    """`lp(Y) = ((5 + |Y|) / 6)^alpha`, or, of the kind "length", `|Y|^alpha`, in float32. |Y|, a number, counts EOS."""
    return np.float32(((5.0 + np.asarray(length)) / 6.0 if kind == "gnmt" else np.asarray(length)) ** alpha)


def join(first, second):
    """Two pools of hypotheses side by side."""
    return {name: ops.concatenate([first[name], second[name]], axis=1) for name in first}


def best(pool, beams, ranks=None):
    """The `beams` hypotheses of highest score, or of highest rank where `ranks` are given, the earlier among equals."""
    highest, which = ops.top_k(pool["scores"] if ranks is None else ranks, beams)
    chosen = gather_beams(pool, ops.cast(which, "int32"))
    return chosen if ranks is not None else chosen | {"scores": highest}


class Beam(Strategy):
    """`beams` open hypotheses and, in a pool of their own, the `beams` best finished ones.

    At each position the `2 * beams` best continuations are looked at: those that end in EOS compete for the finished
    pool by `log p / lp`, the best others stay open. A sentence is done when its pool is full and no open hypothesis can
    still enter it: `log p <= 0` can only fall, so `log p / lp(max_length)` bounds what its rank may become. Where rules
    say that `n_best` hypotheses are wanted, only these must be sure, and the other places are left empty. A sentence
    that is done does not change while others of the batch go on. Ties go to the earlier finished hypothesis, then to
    the lower beam, then to the lower id. This is the search with our `Ranking`, which says what others do instead.

    With a coverage penalty, finished hypotheses compete by `log p / lp + cp`, and so do those that `max_length` cuts
    off; `cp <= 0`, so the bound holds. Open hypotheses are compared by `log p` all the same: what they leave out they
    may still write. `covered (batch, beams, source time)`, the sum of their attention, goes on with them.
    """

    def __init__(self, beams, max_length, alpha, rules=None, ranking=OURS, covered=None):
        self.beams, self.max_length, self.alpha, self.rules = beams, max_length, alpha, rules
        self.covered, self.aligned = covered, covered is not None
        self.ranking, self.longest = ranking, max_length + (ranking.longest == "end")
        self.penalties = length_penalty(np.arange(self.longest + 2), alpha, ranking.penalty)

    def rank(self, log_probs, length):
        """`log p / lp` of hypotheses of this length, a number or a tensor; a step looks `lp` up in a table."""
        if self.alpha == 0:
            return log_probs
        known = isinstance(length, int)
        return log_probs / (self.penalties[length] if known else ops.take(self.penalties, length, axis=0))

    def begin(self, batch):
        first = ops.arange(self.beams, dtype="int32")[None, :] == 0
        nothing = ops.full((batch, self.beams), IMPOSSIBLE, dtype="float32")
        tokens = ops.full((batch, self.beams, self.max_length), UNWRITTEN, dtype="int32")
        return {
            "tokens": tokens,
            "log_probs": ops.where(first, 0.0, nothing),
            "ended": {"tokens": tokens, "scores": nothing},
            **({"covered": self.covered} if self.aligned else {}),
        }

    def done(self, hypotheses):
        if self.ranking.stop == "next":  # `_over` has closed what cannot win, earlier than the bound below would
            return hypotheses["log_probs"][:, 0] <= IMPOSSIBLE
        return self.rank(hypotheses["log_probs"][:, 0], self.longest) <= self._last(hypotheses["ended"]["scores"])

    def _last(self, scores):
        """The lowest score of the pool that is wanted."""
        wanted = self._wanted()
        return scores[:, -1] if wanted is None else ops.min(ops.where(wanted, scores, -BARRED), axis=1)

    def _wanted(self):
        """Which places of the pool are wanted, `(batch or 1, beams)`; None where all. To "next" one is enough."""
        places, usual = ops.arange(self.beams, dtype="int32"), 1 if self.ranking.stop == "next" else self.beams
        if self.rules is None or self.rules.n_best is None:
            return None if usual == self.beams else places[None, :] < usual
        return places < ops.where(self.rules.n_best > 0, self.rules.n_best, usual)

    def _over(self, length, open_, scores):
        """Whether a sentence takes no more answers where that need not be sure: `(batch,)` bool.

        Args:
            length: tokens of the open hypotheses. What ends with the last one, and what it cuts off, go together.
            open_, scores: log p of the open hypotheses, and the scores of the pool, best first.
        """
        if self.ranking.stop == "full":
            over = scores[:, -1] > IMPOSSIBLE / 2
        elif self.ranking.stop == "likely":
            over = self.rank(open_[:, 0], length) <= scores[:, -1]
        else:
            over = self.rank(open_[:, 0], length + 1) <= self._last(scores)
        return ops.logical_and(over, length < self.longest)

    def _candidates(self, position, logits, hypotheses):
        """The best continuations of all hypotheses by log p: `(totals, parents, tokens)`, each `(batch, candidates)`.

        First the best of each hypothesis, whose own log p does not change their order, and then the best of all: so
        nothing but the model's own log-probabilities has the size of the vocabulary.
        """
        logits = self.rules.allowed(logits) if self.rules else logits
        log_probs, before = ops.log_softmax(logits, axis=-1), hypotheses["log_probs"]
        count = self.beams if logits.shape[-1] == 1 else 2 * self.beams
        if self.rules:
            free_end = self.ranking.longest != "behind"
            gains, tokens = self.rules.best(position, log_probs, hypotheses["tokens"], count, free_end)
        else:
            gains, tokens = highest(log_probs, at_most(count, log_probs))
        each = ops.shape(gains)[-1]
        totals, tokens = (
            ops.reshape(of_each, (-1, self.beams * each)) for of_each in (gains + before[:, :, None], tokens)
        )
        totals, flat = ops.top_k(totals, count)
        flat = ops.cast(flat, "int32")
        return totals, flat // each, gather_beams(tokens, flat)

    def advance(self, position, logits, hypotheses, weights=None):
        totals, parents, token = self._candidates(position, logits, hypotheses)
        length = position + 1
        if self.rules and self.rules.only_at is not None and self.ranking.longest == "count":
            length = length - ops.cast(position >= self.rules.only_at[:, 0], "int32")
        prefixes = gather_beams(hypotheses["tokens"], parents)
        ends = token == EOS

        score = self.rank(totals, length)
        if self.aligned:
            covered = hypotheses["covered"] + ops.cast(weights, "float32")
            score = score + gather_beams(coverage_penalty(covered, self.rules.coverage), parents)
        real = ops.logical_and(ends, totals > IMPOSSIBLE / 2)
        if self.ranking.ends != "candidates":
            places = self.beams
            if self.ranking.ends == "places":
                taken = ops.cast(hypotheses["ended"]["scores"] > IMPOSSIBLE / 2, "int32")
                places = self.beams - ops.sum(taken, axis=1, keepdims=True)
            among = ops.arange(token.shape[1], dtype="int32")[None] < places
            real = ops.logical_and(real, among)
        new = {"tokens": prefixes, "scores": ops.where(real, score, IMPOSSIBLE)}
        ended, more = best(join(hypotheses["ended"], new), self.beams), {}

        over = ops.logical_or(ends, ops.logical_not(among)) if self.ranking.ends == "places" else ends
        open_, which = ops.top_k(ops.where(over, BARRED, totals), self.beams)
        which = ops.cast(which, "int32")
        kept = gather_beams({"parents": parents, "token": token}, which)
        if self.ranking.stop != "sure":  # what is open can do nothing any more
            open_ = ops.where(self._over(position + 1, open_, ended["scores"])[:, None], BARRED, open_)
        if self.aligned:
            more["covered"] = gather_beams(covered, kept["parents"])
        return (
            kept["token"],
            {
                "tokens": write(gather_beams(hypotheses["tokens"], kept["parents"]), position, kept["token"]),
                "log_probs": open_,
                "ended": ended,
                **more,
            },
            kept["parents"],
        )

    def finish(self, hypotheses):
        """The pool; where it is not full, hypotheses cut off by `max_length` follow, ranked after all finished ones.

        Where these count, they are ranked with the pool.
        """
        ended, totals = hypotheses["ended"], hypotheses["log_probs"]
        real = totals > IMPOSSIBLE / 2
        score = self.rank(totals, self.longest)
        if self.aligned:
            score = score + coverage_penalty(hypotheses["covered"], self.rules.coverage)
        cut = {"tokens": hypotheses["tokens"], "scores": ops.where(real, score, IMPOSSIBLE)}
        both, ranks = join(ended, best(cut, self.beams) if self.aligned else cut), None
        if self.ranking.longest == "behind":
            # Both are in order already. Places are whole numbers, so that their order is exact.
            place = ops.arange(2 * self.beams, dtype="float32")[None, :]
            ranks = -ops.where(both["scores"] <= IMPOSSIBLE, place + 2 * self.beams, place)
        pool, wanted = best(both, self.beams, ranks), self._wanted()
        tokens, scores = pool["tokens"], pool["scores"]
        if wanted is not None:
            scores = ops.where(wanted, scores, IMPOSSIBLE)
        inside = ops.logical_and(tokens != UNWRITTEN, scores[:, :, None] > IMPOSSIBLE)
        return ops.where(inside, tokens, PAD), ops.sum(ops.cast(inside, "int32"), axis=2), scores


def beam_search(model, memory, max_length, beams=4, alpha=0.6, growing=False, rules=None, ranking=OURS):
    """Beam search over the step protocol, best hypothesis first.

    `score(Y) = log p(Y | x) / ((5 + |Y|) / 6)^alpha`, |Y| counting EOS. `alpha = 0` compares log-probabilities.
    `rules`, a `zoo.decoding.rules.Rules`, change log p, token by token, and may add a coverage penalty. `ranking`, a
    `zoo.core.searching.Ranking`, has other scores, and other ways to end.

    Returns: `token_ids (batch, beams, max_length)` int32 without EOS and PAD after the end, `lengths (batch, beams)`
    int32, `scores (batch, beams)` float32; a place without a hypothesis has length 0 and score -1e9. Hypotheses that
    `max_length` cut off come behind all that have ended, unless the ranking lets them count.

    Raises:
        ValueError: `alpha` is negative (an open hypothesis could then not be bounded), or there is a coverage penalty
            and the model does not tell its attention over the source.

    Reference: https://arxiv.org/abs/1609.08144, section 7.
    """
    if not alpha >= 0:
        raise ValueError(f"The length penalty's alpha must be >= 0. Received: {alpha!r}.")
    ranked = rules is not None and rules.coverage is not None
    covered = uncovered(model, memory, beams) if ranked else None
    strategy = Beam(beams, max_length, alpha, rules, ranking, covered)
    return decode(model, memory, strategy, beams, max_length, growing)
