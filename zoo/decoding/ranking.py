"""How a beam search ranks hypotheses, and when it is over: the choices in which programs that search differ."""

from dataclasses import asdict, dataclass

CHOICES = {
    "penalty": ("gnmt", "length"),
    "ends": ("candidates", "first", "places"),
    "longest": ("behind", "count", "end"),
    "stop": ("sure", "likely", "full"),
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
        stop: when the search of a sentence is over: when no open hypothesis can enter the pool any more ("sure"), when
            the best open one could not enter if it ended where it is ("likely"), or when the pool is full ("full").
            The last two may miss better answers.

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
