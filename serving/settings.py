"""How an artefact answers, and what is written down about its making."""

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Trial:
    """Texts with known answers: what the scores before and after quantisation are measured on.

    Args:
        texts: sentences, prompts or texts to label.
        references: their right answers.
        score: `(answers, references) -> {name: number}`; an answer is a string, a label, or a list of tags. None: no
            scores, as of prompts.
    """

    texts: tuple
    references: tuple = ()
    score: Callable | None = None


@dataclass(frozen=True)
class Settings:
    """Of an export; what does not concern a kind of model is not looked at.

    Args:
        name: the directory's name.
        task: such as "translation".
        beams: widths to write graphs for, besides greedy; the first is the default.
        max_length: the longest output in tokens.
        alpha: exponent of the length penalty.
        max_input: the most tokens of a text that are read, the end of sentence counted; None is as many as the model
            has positions for, or 1,024 where it has no bound.
        overlong: "refuse" leaves a longer text unanswered, "truncate" reads a part of it and says so; None is
            "truncate" for a language model, which reads the end of its prompt, and "refuse" for every other.
        labels: names of a classifier's or a tagger's labels, in the order of their ids.
        recipe: text of the resolved recipe.
        scores: what was measured, for the card.
        texts: examples for the text signature's check.
        int8: also write the quantised graphs.
        xla: also write the signature `tokens_xla`, compiled, with static caches; TensorFlow Serving's GPU image cannot
            run it.
        trial: `Trial` to report int8's scores on, or None.
    """

    name: str
    task: str
    beams: tuple = (4,)
    max_length: int = 64
    alpha: float = 0.6
    max_input: int | None = None
    overlong: str | None = None
    labels: tuple = ()
    recipe: str = ""
    scores: dict = field(default_factory=dict)
    texts: tuple = ()
    int8: bool = True
    xla: bool = False
    trial: Trial | None = None

    def __post_init__(self):
        if not self.beams or min(self.beams) < 1:
            raise ValueError(f"Beam widths must be at least 1, and there must be one. Received: {list(self.beams)}.")

    @classmethod
    def of(cls, manifest):
        """Those that an artefact was exported with, as far as its answers depend on them."""
        default = manifest.get("default_beam", 4)
        others = sorted(int(beams) for beams in manifest.get("generation", ()))
        return cls(
            name=manifest["name"],
            task=manifest["task"],
            beams=(default, *(beams for beams in others if beams not in (1, default))),
            max_length=manifest.get("max_length", cls.max_length),
            alpha=manifest.get("alpha", cls.alpha),
            max_input=manifest.get("max_input"),
            overlong=manifest.get("overlong"),
            labels=tuple(manifest.get("labels", ())),
            texts=tuple(manifest["texts"]),
            xla=any(table["name"] == "tokens_xla" for table in manifest["signatures"]),
        )
