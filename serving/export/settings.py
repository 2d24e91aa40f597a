"""The settings of an export."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from serving.export.forms import OPTIONAL, check_names, forms_in
from serving.export.servers import check_version
from serving.export.shortlist import Shortlist
from serving.export.strings import check_installed
from serving.kinds.rules import RULES, checked
from zoo.core.searching import CHOICES, Fixed, Ranking

STORAGES = ("float32", "float16", "int8")
GRAPHS = ("search", "greedy", "sample", "score", "steps", "all")


def check_name(name: str) -> None:
    """Refuse what is no name of a folder: a path, control characters, or more than 200 characters."""
    if not re.fullmatch(r"(?!\.{1,2}$)[^/\\\x00-\x1f\x7f]{1,200}", name):
        raise ValueError(
            "the name of an artefact is that of a folder, 1 to 200 printable characters without slashes; received "
            f"{name!r}. Give another one (--name)."
        )


@dataclass(frozen=True)
class Trial:
    """Texts with known answers, on which the scores before and after quantisation are measured.

    Args:
        texts: sentences, prompts or texts to label.
        references: their correct answers.
        score: `(answers, references) -> {name: number}`; an answer is a string, a label, or a list of tags. None
            measures no scores, as for prompts, which have no correct answer.

    Raises:
        ValueError: there is no text, or no reference for each text where there is a score.
    """

    texts: tuple[Any, ...]
    references: tuple[Any, ...] = ()
    score: Callable[..., dict[str, float]] | None = None

    def __post_init__(self) -> None:
        if not self.texts:
            raise ValueError(
                "A trial needs at least one text; received none. Without a trial, int8 is compared on a few."
            )
        if self.score and len(self.references) != len(self.texts):
            raise ValueError(
                f"A trial needs a reference for each of its {len(self.texts)} texts; received {len(self.references)}."
            )


@dataclass(frozen=True)
class Settings:
    """The settings of an export. Settings that do not apply to a kind of model are ignored.

    Args:
        name: the name of the artefact's directory.
        task: a description, such as "translation".
        beams: the beam widths for which graphs are written, besides greedy decoding; the first is the default.
        max_length: the longest output in tokens.
        alpha: exponent of the length penalty.
        rules: rules of the search by name (`serving.kinds.rules`) where a caller gives none, such as
            {"no_repeat_ngram_size": 3}. With "coverage_penalty", even of 0, the beam searches compute it, and take it
            as an input; without it they cost nothing for it.
        search: what else belongs to the search, by name: the choices of `zoo.core.searching.Ranking`, and the rules
            of `zoo.core.searching.Fixed`, which hold whatever rules a caller gives.
        max_input: the largest number of tokens of a text that are read, including the end of sentence; None is the
            number of positions of the model, or 1,024 if it has no bound.
        overlong: "refuse" gives an error instead of an answer to a longer text; "truncate" reads a part of it and adds
            a warning. None is "truncate" for a language model, which reads the end of its prompt, and else "refuse".
        labels: names of a classifier's or a tagger's labels, in the order of their ids.
        words: of a tagger, the rule of `zoo.text.words` that cuts a text into words.
        scope: of a classifier that may say that a text is out of scope, {"label": what it then answers, "threshold":
            the probability of the likeliest label below which it does}.
        recipe: text of the resolved recipe.
        scores: measured scores, for the manifest and the card.
        texts: examples with which the text signature is checked.
        int8: also write the quantised graphs.
        calibration: the texts that validate. The first of them give the ranges of the numbers that int8 rounds; without
            any, `ranges` hold, and what they lack is found with `texts`. All say what is usual for the model.
        ranges: what was found before, as the manifest has it.
        usual: likewise, where there are too few texts that validate.
        xla: also write the signature `tokens_xla`, compiled with XLA and with static caches. The GPU image of
            TensorFlow Serving cannot run it.
        trial: the `Trial` on which the scores of int8 are measured, or None.
        storage: how weights are stored. With "float16" each is rounded to the nearest number that 16 bits hold, and
            `model.keras` and the ONNX graphs have half the size; with "int8" a matrix has 8 bits for each number and
            a power of two for each column or row, and they have a third and a quarter. All still compute in float32.
        shortlist: a `Shortlist`, with which graphs that write its ids alone are exported, too; None exports none.
        strings: also write the graph that is the default with the tokenizers inside, which takes texts and gives texts,
            and its int8 form; it needs onnxruntime-extensions.
        serving_version: the version of TensorFlow Serving, such as "2.20", that must be able to load the SavedModel;
            None warns of each version that cannot.
        graphs: which graphs are written besides those of the search, of `GRAPHS`; none is all, or of a large network
            those that answer texts (docs/artefacts.md). "search" is the search alone.
        forms: the names of further forms that are written, of `serving.export.forms.OPTIONAL`.
    """

    name: str
    task: str
    beams: tuple[int, ...] = (4,)
    max_length: int = 64
    alpha: float = 0.6
    rules: dict[str, Any] = field(default_factory=dict)
    search: dict[str, Any] = field(default_factory=dict)
    max_input: int | None = None
    overlong: str | None = None
    labels: tuple[str, ...] = ()
    words: str = "spaces"
    scope: dict[str, Any] = field(default_factory=dict)
    recipe: str = ""
    scores: dict[str, Any] = field(default_factory=dict)
    texts: tuple[str, ...] = ()
    int8: bool = True
    calibration: tuple[Any, ...] = ()
    ranges: dict[str, Any] = field(default_factory=dict)
    usual: dict[str, Any] = field(default_factory=dict)
    xla: bool = False
    trial: Trial | None = None
    storage: str = "float32"
    shortlist: Shortlist | None = None
    strings: bool = False
    serving_version: str | None = None
    graphs: tuple[str, ...] = ()
    forms: tuple[str, ...] = ()

    def __post_init__(self):
        check_name(self.name)
        if not self.beams or min(self.beams) < 1:
            raise ValueError(f"Beam widths must be at least 1, and there must be one. Received: {list(self.beams)}.")
        texts = [name for name in checked(self.rules) if RULES[name].kind not in (int, float)]
        if texts:
            raise ValueError(
                f"An artefact has rules that are numbers; received {', '.join(texts)}. Give it when it runs."
            )
        ranks = ", ".join(name for name in self.rules if RULES[name].ranks)
        if ranks and max(self.beams) < 2:
            raise ValueError(
                f"{ranks} ranks the hypotheses of a beam search: expected a beam width of 2 or more. Received: "
                f"{list(self.beams)}. Export another width, too, or leave {ranks} out."
            )
        self.ranking, self.fixed  # noqa: B018  what is wrong in `search` is told here
        if self.storage not in STORAGES:
            raise ValueError(f"Unknown storage: expected one of {STORAGES}, received {self.storage!r}.")
        if self.strings:
            check_installed()
        check_names(self.forms)
        unknown = sorted(set(self.graphs) - set(GRAPHS))
        if unknown:
            raise ValueError(f"Unknown graphs: expected some of {', '.join(GRAPHS)}, received {', '.join(unknown)}.")
        if self.serving_version is not None:
            check_version(self.serving_version)

    @property
    def ranking(self):
        """How the beam search ranks and stops: a `zoo.core.searching.Ranking`."""
        return Ranking(**{name: value for name, value in self.search.items() if name in CHOICES})

    @property
    def fixed(self):
        """The rules that hold in every search: a `zoo.core.searching.Fixed`."""
        own = {name: value for name, value in self.search.items() if name not in CHOICES}
        return Fixed(**{name: value if name == "renormalize" else _tuples(value) for name, value in own.items()})

    @classmethod
    def of(cls, manifest: dict[str, Any]) -> "Settings":
        """The settings with which an artefact was exported, without the recipe and the trial.

        What a light artefact has left out counts, too: its graphs for further beam widths and its int8 graphs.
        """
        default, files = manifest.get("default_beam", 4), (*manifest["files"], *manifest.get("left_out", ()))
        matches = filter(None, (re.fullmatch(r"model\.beam(\d+)\.onnx", file) for file in files))
        without = manifest.get("without")
        others = sorted({int(beams) for beams in (*manifest.get("generation", ()), *(pair[1] for pair in matches))})
        return cls(
            name=manifest["name"],
            task=manifest["task"],
            beams=(default, *(beams for beams in others if beams not in (1, default))),
            max_length=manifest.get("max_length", cls.max_length),
            alpha=manifest.get("alpha", cls.alpha),
            rules=manifest.get("rules", {}),
            search=manifest.get("search", {}),
            max_input=manifest["max_input"],
            overlong=manifest["overlong"],
            labels=tuple(manifest.get("labels", ())),
            words=manifest.get("words", "spaces"),
            scope=manifest.get("scope", {}),
            scores=manifest["scores"],
            texts=tuple(manifest["texts"]),
            ranges=manifest["ranges"],
            usual=manifest.get("usual", {}),
            int8=any(file.endswith(".int8.onnx") for file in files),
            xla=any(table["name"] == "tokens_xla" for table in manifest["signatures"]),
            storage=manifest["storage"],
            strings="strings" in manifest,
            graphs=tuple(name for name in GRAPHS[:-1] if name not in without) if without is not None else (),
            forms=tuple(form.name for form in forms_in(manifest["files"]) if form.name in OPTIONAL),
        )


def _tuples(value):
    """A list of lists of a manifest as tuples."""
    return tuple(map(_tuples, value)) if isinstance(value, list | tuple) else value
