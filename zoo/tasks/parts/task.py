"""What a task is: which files, which vocabularies, which batches, which models, which scores."""

import dataclasses
import functools
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from zoo import scores as scoring
from zoo.core.later import later
from zoo.data import PairBatches
from zoo.settings import occupants
from zoo.settings.models import Recurrent, Transformer
from zoo.settings.slots import READS, RECURRENT_READS
from zoo.settings.table import Table
from zoo.tasks.parts import corpora
from zoo.tasks.parts.vocabularies import learn, tell_embedding

# The border of the tasks to Keras: what makes a model, and what asks one.
building = later("zoo.tasks.parts.building")
answering = later("zoo.tasks.parts.answering")
zoo_models = later("zoo.models")


@dataclasses.dataclass(frozen=True)
class Choice:
    """One kind of model that a task may train.

    Attributes:
        model: the table of its sizes.
        needs: `{slot: {trait: wanted}}` of each slot that it has (`zoo.core.protocols`).
        losses: the tables of its losses, the default first.
        search: the table of its search; None where it does not search.
    """

    model: type[Table]
    needs: dict[str, dict[str, bool]]
    losses: tuple[type[Table], ...]
    search: type[Table] | None = None

    @functools.cached_property
    def slots(self):
        """`{slot: (the zoo's own layers that it may hold, the default first)}`."""
        return {slot: occupants.fitting_tables(slot, needs) for slot, needs in self.needs.items()}


def readers(loss, needs=READS):
    """The `{kind of model: Choice}` of a task whose models read texts, with one loss."""
    transformer = Choice(Transformer, needs, (loss,))
    return {"transformer": transformer, "recurrent": Choice(Recurrent, RECURRENT_READS, (loss,))}


@dataclasses.dataclass(frozen=True)
class Run:
    """A finished run: `tokenizers` are (source, target), or the only one; `labels` names the classes by their ids.

    `directory` is where it lies, None for the ensemble of several runs; `threshold` is the probability below which a
    text is out of scope, if there is one.
    """

    recipe: Table
    model: Any
    tokenizers: tuple[Any, ...]
    labels: tuple[str, ...] = ()
    directory: Path | None = None
    threshold: float | None = None


class Evaluation(NamedTuple):
    """What a run answered to examples, and how good its answers are.

    Attributes:
        scores: a dict that JSON can hold.
        outputs: a string for each example; empty where the model writes nothing.
        inputs: the inputs of the examples as they were scored.
        references: the right answers as they were scored.
        measured: `{name: a list of numbers}` for each window of a running text, or each prompt.
        confidences: the probability that the model gives each output, or None: of a label its softmax, of tags that of
            the least likely one, of a text the geometric mean over its tokens.
        places: `FILE:LINE` of each input, or None where it is not known.
    """

    scores: dict
    outputs: list
    inputs: list
    references: list
    measured: dict = {}
    confidences: list | None = None
    places: list | None = None


def small_reader_settings():
    """The settings of a small Transformer that reads, and of its training."""
    sizes = {"units": 128, "num_layers": 2, "num_heads": 4, "hidden_units": 256, "dropout": 0.3}
    training = {"batch_size": 32, "max_length": 0, "learning_rate": 1.5e-3, "schedule": "cosine", "average": 3}
    return {"model": {"kind": "transformer"} | sizes, "positions": {"layer": "convolutional"}, "training": training}


def with_lstm(settings):
    """The settings of `small_reader_settings` with a bidirectional LSTM in the place of the Transformer.

    Its states know the order of words, which a Transformer has to learn from positions, and one recurrent layer bears
    a higher rate.
    """
    lstm = {"kind": "recurrent", "cell": "lstm", "units": 128, "num_layers": 1, "dropout": 0.3}
    others = {name: each for name, each in settings.items() if name != "positions"}
    return others | {"model": lstm, "training": settings["training"] | {"learning_rate": 4e-3}}


class Task(ABC):
    """One task. An instance has no state; a new task is a new file of `zoo.tasks` that ends with `TASK = Mine()`.

    Attributes:
        name: what recipes call it.
        kind: the kind of its examples, see `zoo.data.formats`.
        other_kind: another kind of examples that it takes, if files have none of the first; "" if there is none.
        data: the tables of the corpora that it reads, the default first.
        text: the table of its vocabularies.
        models: `{kind of model: Choice}`, the default first.
        sides: names of its tokenizers' files.
        labelled: whether its answers are labels, whose names are kept.
        between_languages: whether inputs and answers are texts of languages, which scores have to know.
        scope: the table of what is out of scope; None where nothing can be.
        init_needed: a sentence that says what training must begin with; "" if it can begin with random weights.
    """

    name: ClassVar[str]
    kind: ClassVar[str]
    other_kind: ClassVar[str] = ""
    data: ClassVar[tuple[type[Table], ...]]
    text: ClassVar[type[Table]]
    models: ClassVar[dict[str, Choice]]
    sides: ClassVar[tuple[str, ...]] = ("source",)
    labelled: ClassVar[bool] = False
    between_languages: ClassVar[bool] = False
    scope: ClassVar[type[Table] | None] = None
    init_needed: ClassVar[str] = ""

    def choice(self, recipe):
        """The `Choice` of a recipe's model."""
        return self.models[recipe.model.kind]

    def check(self, recipe):  # noqa: B027  most tasks are scored everywhere
        """Refuse a recipe that cannot be scored here, before it is trained.

        Raises:
            ValueError: a library that its scores need is not installed.
        """

    def examples(self, recipe, split, directory=None, train_examples=None):
        """The `zoo.data.formats.Examples` of a split, see `zoo.tasks.parts.corpora.examples`."""
        return corpora.examples(recipe, self.kind_of(recipe), split, directory, train_examples)

    def kind_of(self, recipe):
        """The kind of the examples that the files of a recipe hold."""
        return self.kind

    def read(self, recipe, split, directory=None):
        """(inputs, answers) of a split: two lists, item i of the second answering item i of the first."""
        return self.inputs_and_answers(self.examples(recipe, split, directory))

    def inputs_and_answers(self, examples):
        """(inputs, answers) of `zoo.data.formats.Examples`, as a model is asked and scored."""
        return examples.inputs, examples.answers

    def mend_labels(self, recipe, examples, known):
        """`Examples` whose labels are spelled as the `known` ones, where they differ in spelling alone."""
        return examples

    @abstractmethod
    def starter(self, examples, kind=None):
        """Settings, table by table, that are good to begin with on somebody's `zoo.data.formats.Examples`.

        `kind` is the kind of the model, if somebody has chosen one; a task with a single kind may ignore it. Sizes of
        vocabularies and the length of the training are left out: `zoo.recipes.proposal` computes them.
        """

    def notes(self, examples):
        """What of the examples a user should know, in sentences."""
        return []

    def reasons(self, examples):
        """Why `starter` chose its model, in sentences; they do not hold where a network is given to begin with."""
        return []

    def texts(self, inputs, answers):
        """The texts that each vocabulary is learnt from, in the order of `sides`."""
        return (inputs,)

    def tokenizers(self, recipe, inputs, answers):
        """One `zoo.text.Tokenizer` for each of `sides`, learnt from training texts: here the only one."""
        return (learn(recipe.text, recipe.text, *self.texts(inputs, answers)),)

    def labels(self, recipe, answers):
        """The names of the classes, sorted; the index is the id. Empty for tasks without labels."""
        return ()

    @abstractmethod
    def batches(self, recipe, tokenizers, labels, examples, training=False):
        """The batches of (inputs, answers), for training or in the order of shapes and corpus."""

    @abstractmethod
    def model(self, recipe, *sizes):
        """The model, not built yet.

        Args:
            recipe: the recipe.
            *sizes: of the vocabularies, and of the labels if there are any.
        """

    def prepare(self, recipe, model, tokenizers):
        """Tell a built model of one side what it must know about its tokens before training: their spelling, or which
        of them end a sentence."""
        if len(self.sides) == 1:
            tell_embedding(model.embedding, tokenizers[0])

    def calibrate(self, run, examples):
        """Calibrate a trained model on validation examples: its probabilities, or the unit of its numbers.

        Returns what was measured, a dict that JSON can hold, or None.
        """
        return None

    def begin(self, recipe, model, taken):
        """Prepare a model for training that has weights of a finished run, those of the paths `taken`."""
        return None

    def threshold(self, run, examples):
        """The probability below which a text is out of scope, chosen on validation examples; None where none is."""
        return None

    def make_monitor(self, recipe, model, tokenizers, labels, examples):
        """A function that measures what `training.monitor` names; None if the validation's loss gives it anyway."""
        return None

    @abstractmethod
    def evaluate(self, run, examples, *, beams=None, progress=None):
        """The `Evaluation` of (inputs, answers).

        Args:
            run: the `Run`.
            examples: (inputs, answers).
            beams: width of the search of a model that writes; the recipe's by default.
            progress: called with the number of examples done and their total.
        """

    @abstractmethod
    def choose_scoring(self, recipe, references):
        """(the name of its scores in `zoo.scores.TASKS`, a dict of their options)."""

    def score(self, recipe, outputs, references):
        """The scores of outputs, see `zoo.scores`."""
        name, options = self.choose_scoring(recipe, references)
        return getattr(scoring, name)(outputs, references, **options)

    def lengths(self, recipe, inputs):
        """How long each example is, for scores by length; empty where examples are grouped in another way."""
        return []

    def lines(self, inputs):
        """What an artefact is asked, a line each: of a pair "first TAB second"."""
        return list(map(one_line, inputs))

    def read_outputs(self, answers):
        """The outputs that are scored, of an artefact's answers to `lines`."""
        return [" ".join(answer) if isinstance(answer, list) else answer for answer in answers]

    def questions(self, recipe, runtime, examples):
        """(inputs, answers) as an artefact is asked them: those of the examples, except for running text.

        Args:
            recipe: the recipe.
            runtime: a `serving.Runtime`, or whatever else has its `manifest`, `encode`, `run` and `score`.
            examples: (inputs, answers) of a split.
        """
        return examples

    def respond(self, recipe, runtime, inputs, references):
        """What an artefact answers to each of its questions; JSON can hold an answer.

        A text that the artefact refuses has the answer "".

        Args: as of `questions`, which gave `inputs` and `references`.
        """
        return self.read_outputs([result.answer for result in runtime.run(self.lines(inputs))])

    def assess(self, recipe, inputs, outputs, references):
        """The `Evaluation` of what `respond` gave."""
        return Evaluation(self.score(recipe, outputs, references), outputs, inputs, references)


def one_line(example):
    """An example as an artefact reads it: of a pair, "first TAB second"."""
    return example if isinstance(example, str) else "\t".join(example)


class Pairs:
    """What a task on pairs of texts overrides in the task on single texts that it resembles."""

    network, batch_type = "PairClassifier", PairBatches

    def texts(self, inputs, answers):
        """Those of both sides."""
        return ([text for pair in inputs for text in pair],)

    def encode(self, recipe, tokenizer, inputs):
        """The words of the first and of the second text of each pair, and how many texts were cut."""
        sides = [super(Pairs, self).encode(recipe, tokenizer, side) for side in zip(*inputs, strict=True)]
        return list(zip(*(words for words, _ in sides), strict=True)), sum(cut for _, cut in sides)
