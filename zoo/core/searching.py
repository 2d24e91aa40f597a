"""What is chosen for a search beside its model: how hypotheses are ranked, and which tokens hold in every search.

It imports no framework, so that recipes and the settings of an export are checked before one is there.
"""

from dataclasses import asdict, dataclass

CHOICES = {
    "penalty": ("gnmt", "length"),
    "ends": ("candidates", "first", "places"),
    "longest": ("behind", "count", "end"),
    "stop": ("sure", "next", "likely", "full"),
}


@dataclass(frozen=True)
class Ranking:
    """The choices of a `zoo.decoding.beam.Beam`; the first of each is ours.

    transformers searches with `Ranking("length", "first", "count", stop)`, or with "end" where a model has a
    `forced_eos_token_id`; its `early_stopping` is "sure" for "never", "likely" for False and "full" for True. Marian
    searches with `Ranking("length", "places", "count", "full")`.

    Args:
        penalty: what `log p(Y)` is divided by, |Y| counting EOS: "gnmt" `((5 + |Y|) / 6)^alpha`, "length" `|Y|^alpha`.
        ends: which continuations that end in EOS finish a hypothesis: all of the `2 * beams` best ("candidates"), or
            only those among the first `beams` of them ("first"), or among as many as there are places, of which each
            finished hypothesis keeps one ("places"): so many hypotheses go on, fewer with every end.
        longest: what becomes of hypotheses that `max_length` cuts off: they come behind all that have ended
            ("behind"), are ranked with them as they are ("count"), or with an EOS that costs nothing ("end"). The last
            two hold for the rules `max_length` and `length_ratio`, too; with the first, the EOS that these ask for
            costs what the model says.
        stop: when the search of a sentence is over: when no open hypothesis can take a wanted place of the pool any
            more ("sure"), when the best open one could not if it ended with its next token, at no cost ("next"), when
            it could not enter the whole pool if it ended where it is ("likely"), or when the pool is full ("full").
            All but the first may miss better answers. Wanted are all places, with "next" the first alone, unless
            the rule `n_best` says how many.

    Raises:
        ValueError: there is no such choice.
    """

    penalty: str = "gnmt"
    ends: str = "candidates"
    longest: str = "behind"
    stop: str = "sure"

    def __post_init__(self):
        for name, value in asdict(self).items():
            if value not in CHOICES[name]:
                raise ValueError(f"{name} must be one of {', '.join(CHOICES[name])}. Received: {value!r}.")


OURS = Ranking()


@dataclass(frozen=True)
class Fixed:
    """Rules that belong to a model and hold in each of its searches, whatever other rules are given.

    Args:
        forced_tokens: ids that every output begins with, such as that of its language. They cost nothing: their log p
            is 0, unlike that of the rule of this name, whose tokens follow them.
        barred_tokens: ids that are never written. Their probability is 0, and those of the others add up to 1.
        bad_words: sequences of ids that are never written, beside those of the rule of this name.
        renormalize: whether log-probabilities are normalised again behind all rules.

    Raises:
        ValueError: a token is forced and barred.
    """

    forced_tokens: tuple[int, ...] = ()
    barred_tokens: tuple[int, ...] = ()
    bad_words: tuple[tuple[int, ...], ...] = ()
    renormalize: bool = False

    def __post_init__(self):
        both = sorted({*self.forced_tokens} & {*self.barred_tokens})
        if both:
            raise ValueError(f"forced_tokens and barred_tokens have no id in common; both have {both}. Leave one out.")


NOTHING = Fixed()


def mean_log_probability(score, tokens, alpha=0.0, penalty="gnmt"):
    """The mean of `log p` over the tokens of an output, whose exponential says how sure a model is of it.

    Args:
        score: of the search, `log p` divided by a penalty of the length; penalties of repetition and coverage stay in.
        tokens: how many there are, EOS counted. Both may be arrays.
        alpha: the exponent of the penalty, 0 where there is none, as in greedy search.
        penalty: its kind, see `Ranking`.
    """
    return score * ((5 + tokens) / 6 if penalty == "gnmt" else tokens) ** alpha / tokens
