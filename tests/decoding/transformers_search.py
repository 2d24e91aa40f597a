"""Beam search as transformers 5.23 has it, in NumPy and float64, from the rules of `GenerationMixin._beam_search`.

It was compared with the library itself, see docs/beam-search.md. One sentence at a time: its rules know of no other.
"""

from tests.decoding.table import EOS

NOTHING = -1e9  # what transformers gives to beams and to places of the pool that hold nothing


class Pool:
    """The finished hypotheses, the best first: `(score, tokens)`, at most `beams`."""

    def __init__(self, beams, length_penalty, early_stopping):
        self.beams, self.length_penalty, self.early_stopping = beams, length_penalty, early_stopping
        self.found, self.improvable = [], True

    @property
    def full(self):
        return len(self.found) == self.beams

    def take(self, ended, length):
        """Hypotheses that are finished at this length, as `(log p, tokens)`, unless the search is over."""
        if not self.improvable or self.early_stopping is True and self.full:
            return
        scored = [(total / length**self.length_penalty, tokens) for total, tokens in ended]
        self.found = sorted([*self.found, *scored], key=lambda one: -one[0])[: self.beams]

    def look(self, best, length, longest):
        """`_check_early_stop_heuristic`: once nothing can be improved, nothing is taken any more."""
        if self.early_stopping == "never" and self.length_penalty > 0:
            length = longest
        worst = self.found[-1][0] if self.full else NOTHING
        self.improvable = self.improvable and best / length**self.length_penalty > worst

    @property
    def over(self):
        return not self.improvable or self.early_stopping is True and self.full


def transformers_search(log_probs, longest, beams, length_penalty=1.0, early_stopping=False, forced_eos=False):
    """The `(tokens, score)` of the finished hypotheses, the best first, tokens without EOS.

    Args:
        log_probs: a function from the tokens of a hypothesis to what the processors leave of its log-probabilities.
        longest: `max_length` without the token that decoders start with.
        beams, length_penalty, early_stopping: as in a generation configuration.
        forced_eos: whether it has a `forced_eos_token_id`.
    """
    running = [(0.0, ())] + [(NOTHING, ())] * (beams - 1)
    pool = Pool(beams, length_penalty, early_stopping)
    for length in range(1, longest + 1):
        grown = [
            (total + gain, (*tokens, token))
            for total, tokens in running
            for token, gain in enumerate(log_probs(tokens))
        ]
        if forced_eos and length == longest:
            grown = [(total, (*tokens, EOS)) for total, tokens in running]
        grown = sorted(grown, key=lambda one: -one[0])[: 2 * beams]
        stops = [tokens[-1] == EOS or length == longest for _, tokens in grown]
        pool.take(
            [one for one, stop in zip(grown[:beams], stops, strict=False) if stop and one[0] > NOTHING / 2], length
        )
        running = [one for one, stop in zip(grown, stops, strict=True) if not stop][:beams]
        if not running:
            break
        pool.look(running[0][0], length, longest)
        if pool.over:
            break
    return [(tuple(token for token in tokens if token != EOS), score) for score, tokens in pool.found]
