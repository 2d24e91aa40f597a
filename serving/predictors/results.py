"""What comes out. Every result has an `answer`: the part that two precisions may agree on."""

from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True)
class Mode:
    """A way in which an artefact can be asked: the graph that answers and the options that choose it."""

    name: str
    graph: str
    options: dict

    def at(self, first):
        """The options for texts that are numbered from `first` on."""
        return {
            name: replace(value, first=first) if isinstance(value, Sampling) else value
            for name, value in self.options.items()
        }


@dataclass(frozen=True)
class Hypothesis:
    """One output text and its score: a log-probability, of beam search length-normalised; higher is better."""

    text: str
    score: float


@dataclass(frozen=True, kw_only=True)
class Remarks:
    """What every result says of its text.

    Args:
        error: why the text is not answered (the result is blank then), or None.
        warning: that only a part of the text was read, or None.
    """

    error: str | None = None
    warning: str | None = None


@dataclass(frozen=True)
class Result(Remarks):
    """The output of one input, and the hypotheses (or samples) it heads."""

    text: str
    score: float
    hypotheses: tuple[Hypothesis, ...]

    @property
    def answer(self):
        return self.text


@dataclass(frozen=True)
class Label(Remarks):
    """The label of a text, its probability, and the probability of every label, the likeliest first.

    A blank text has the label "", the probability 0 and no probabilities.
    """

    label: str
    probability: float
    probabilities: dict[str, float]

    @property
    def answer(self):
        return self.label


@dataclass(frozen=True)
class Word:
    """A word with its tag and the tag's probability, and where it stands: `text[start:end]`, in characters."""

    text: str
    tag: str
    start: int
    end: int
    score: float


@dataclass(frozen=True)
class Tags(Remarks):
    """The words of a text."""

    words: tuple[Word, ...]

    @property
    def answer(self):
        return [word.tag for word in self.words]


@dataclass(frozen=True)
class Attention:
    """What each output piece looked at: `weights[j, i]` is the share of source piece i in it."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    weights: np.ndarray  # (target, source)


@dataclass(frozen=True)
class Sampling:
    """How tokens are drawn. The same settings give the same text, whatever else is in the batch.

    Args:
        temperature: divides the logits; 0 always takes the most probable token.
        top_k: only the k most probable tokens; 0 takes all.
        top_p: only the most probable tokens that together have this probability.
        seed: of all the randomness.
        first: number of the first text, where texts come in parts.

    Raises:
        ValueError: a number is out of its range.
    """

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 0
    first: int = 0

    def __post_init__(self):
        for name, good, expected in (
            ("temperature", self.temperature >= 0, "a number >= 0"),
            ("top_k", self.top_k >= 0 and self.top_k == int(self.top_k), "a whole number >= 0 (0 takes all)"),
            ("top_p", 0 < self.top_p <= 1, "a number > 0 and <= 1"),
            ("seed", self.seed >= 0 and self.seed == int(self.seed), "a whole number >= 0"),
        ):
            if not good:
                raise ValueError(f"{name} must be {expected}; received {getattr(self, name)!r}.")

    def inputs(self, keys, start, steps):
        """Inputs of the sampling graph for rows `(text number, sample number)`, their tokens `start .. start + steps`.

        The numbers are those of `zoo.decoding.uniforms`.
        """
        drawn = [
            np.random.default_rng((self.seed, self.first + text, sample)).random(start + steps, dtype="float32")[start:]
            for text, sample in keys
        ]
        rows = len(keys)
        return {
            "uniforms": np.reshape(np.array(drawn, "float32"), (rows, 1, steps)),
            "temperature": np.full(rows, self.temperature, "float32"),
            "top_k": np.full(rows, self.top_k, "int32"),
            "top_p": np.full(rows, self.top_p, "float32"),
        }
