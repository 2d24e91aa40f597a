"""What a kind of answer is, and what every kind has."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

PAIR = ("first_text", "second_text")  # the inputs of `serving_default`
PLACES = "first text: ", "second text: "  # before an error or a warning about one of the two
ONE = ("text",)  # the inputs of `serving_default` of a model that reads one text


@dataclass(frozen=True, kw_only=True)
class Remarks:
    """The error and the warning of a result.

    Args:
        error: why there is no answer to the text (then the result is blank), or None.
        warning: what to know of the text or its answer, such as that only a part was read, or None.
    """

    error: str | None = None
    warning: str | None = None

    @property
    def confidence(self) -> float | None:
        """How sure the model is of the answer, from 0 to 1; None where it gives no probability."""
        return None


class Output(NamedTuple):
    """An output of `serving_default` on a server: its name, its dtype in the manifest's words, and how many axes."""

    name: str
    dtype: str
    axes: int = 1


class Column(NamedTuple):
    """The values of an output: their shape, and flat or nested lists of them."""

    shape: tuple[int, ...]
    values: list


class Kind(ABC):
    """One kind of answer: everything plain about it. An instance has no state.

    A new kind is a class in a module of `serving.kinds`, and one in a module of `serving.export.kinds`.
    One that does not write also has `make_result(outputs, prepared, reading)`: the result of a text, without its
    remarks, from the outputs of the graph for this text (arrays by name), what `prepare` gives, and the
    `serving.runtime.reading.Reading` of the text (of a pair, of its first).

    Attributes:
        name: what the manifest calls it.
        forms: the inputs of `serving_default` that its models may have: `ONE`, `PAIR`, or both.
        mark: the output by which a client knows it; "" where it cannot be told from another kind.
        outputs: those of `serving_default` on a server, without the errors and warnings.
        needs: the keys of the manifest that only this kind needs.
        options, remote_options: the names of what `Runtime.run` takes, and of what a client may ask of a server.
        by_words: whether words are read separately, and each has an answer.
        writes: whether answers are written token by token, so that a search finds them.
        prompts: whether a text is what the answer goes on from: its end is read, and it has no end of sentence.
        has_confidence: whether its results have one.
        is_vector: whether an answer is a vector: many are a matrix, and the gallery has nothing to show of one.
    """

    name: ClassVar[str]
    forms: ClassVar[tuple[tuple[str, ...], ...]] = (ONE,)
    mark: ClassVar[str] = ""
    outputs: ClassVar[tuple[Output, ...]] = ()
    needs: ClassVar[tuple[str, ...]] = ()
    options: ClassVar[tuple[str, ...]] = ()
    remote_options: ClassVar[tuple[str, ...]] = ()
    by_words: ClassVar[bool] = False
    writes: ClassVar[bool] = False
    prompts: ClassVar[bool] = False
    has_confidence: ClassVar[bool] = False
    is_vector: ClassVar[bool] = False

    # What a request is.

    def sides(self, manifest):
        """The inputs of `serving_default` of an artefact."""
        if len(self.forms) == 1:
            return self.forms[0]
        inputs = [
            spec["name"] for table in manifest["signatures"] if table["name"] == self.name for spec in table["inputs"]
        ]
        return PAIR if "first_ids" in inputs else ONE

    def example(self, manifest):
        """A text that can be asked."""
        return "\t".join("a" for _ in self.sides(manifest))

    @property
    def part(self):
        """The part of a long text that can be read: "first", or of what goes on the "last"."""
        return "last" if self.prompts else "first"

    @property
    def has_source(self):
        """Whether an answer is written for a whole text, so that attention can be shown and sentences be run alone."""
        return self.writes and not self.prompts

    @property
    def fewest(self):
        """The smallest number of ids of a text; BOS is put in front of a prompt, so it may have none."""
        return 0 if self.prompts else 1

    # What a graph is asked and answers.

    def table(self, manifest):
        """The signature whose graph answers, as the manifest has it."""
        return next(table for table in manifest["signatures"] if table["name"] == self.name)

    def check(self, manifest):
        """Say what is wrong with the graphs of a manifest, as (key, what is expected, what was received), or None."""
        if self.name not in manifest["graphs"]:
            return "graphs", f"an object with {self.name!r}, which this kind runs", manifest["graphs"]
        return None

    def graphs(self, manifest):
        """`{signature: file}` of the graphs that answer by default, in their float32 form."""
        return {self.name: manifest["graphs"][self.name]}

    def light_graphs(self, manifest):
        """`{signature: file}` of the graphs that a light artefact keeps."""
        return self.graphs(manifest)

    def prepare(self, manifest):
        """What `make_result` needs of a manifest, computed once for an opened artefact."""
        return manifest

    def shapes(self, manifest):
        """`{output: shape}` of the answer of the graph to one text; None stands for any size."""
        return {}

    # What an answer is, and how it is shown.

    @abstractmethod
    def blank(self) -> Any:
        """The result of a text without an answer."""

    @abstractmethod
    def line(self, result, escape):
        """The answer as a line; `escape` is a function that shows the control characters of a text."""

    def lines(self, number, result, escape):
        """All hypotheses to text `number`, a line each; one line of a kind that has no more than an answer."""
        return [self.line(result, escape)]

    def record(self, fields, n_best):
        """The fields of a result as a JSON object shows them; `n_best` is what was asked for, or None."""
        return fields

    @abstractmethod
    def columns(self, n_best):
        """The columns of an answer in a table: name -> `(type, function from a result)`.

        The type is str, float or "float32", or a list of one of them; of a blank answer a value may be None.
        """

    def agreement(self, ones, others):
        """How much the answers of two precisions agree: the share that is the same."""
        return sum(one == other for one, other in zip(ones, others, strict=True)) / max(1, len(ones))

    # Its columns on a server.

    @abstractmethod
    def write(self, results, manifest, width):
        """`{name: Column}` of the outputs of a request; `width` is how many hypotheses of each text were asked for."""

    @abstractmethod
    def read(self, texts, columns, labels):
        """A result for each text, without its remarks, from lists by name with a row for each text.

        Raises:
            ValueError, KeyError, TypeError: the columns do not fit.
        """


def pair(text):
    """`(first, second)` of "first TAB second", which is a pair in Python and on the command line.

    Raises:
        ValueError: the text does not have exactly one TAB.
    """
    count = text.count("\t")
    if count != 1:
        raise ValueError(
            f"A pair is two texts with one TAB between them; received {count} TABs in {text[:80]!r}. "
            "Put one TAB between the first text and the second."
        )
    return tuple(text.split("\t"))
