"""The base class of all kinds of models, a signature together with its function, and inputs for the parity check."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import tensorflow as tf

from serving.export import gate
from serving.export.signatures import find
from serving.export.sizes import is_large
from serving.kinds import KINDS
from serving.runtime.reading import DEFAULT, Bound, is_answered
from zoo.core.signatures import Signature
from zoo.models.signatures import spec
from zoo.tasks.parts import answering
from zoo.text.base import EOS

BATCHES = (1, 5)
TIMES = (1, 2, 7, 33)
PADDINGS = ("full", "ragged", "foreign")
FEW = ((1, 1, ("full",)), (5, 7, ("foreign",)), (5, 33, ("ragged",)))  # of a large network
FIRST_WORD = EOS + 1
REMARKS = spec("errors", "string"), spec("warnings", "string")  # outputs of every signature that takes strings


@dataclass(frozen=True)
class ExportedFunction:
    """A signature, its function, and the files that it is written to.

    Args:
        signature: names, dtypes and shapes; sizes that are fixed in this export are numbers.
        function: takes tensors by name and returns a dict by output name.
        graph: the file name of its ONNX graph, or None.
        saved: whether it is in the SavedModel.
        int8: whether there is a quantised ONNX graph, too.
        xla: whether it is compiled with XLA.
    """

    signature: Signature
    function: Callable
    graph: str | None = None
    saved: bool = True
    int8: bool = False
    xla: bool = False

    @property
    def name(self):
        return self.signature.name

    @cached_property
    def traced(self):
        """The function as one TensorFlow graph for all shapes. It is saved, and parity compares with its results."""
        specs = [tf.TensorSpec(spec.static_shape, spec.dtype, spec.name) for spec in self.signature.required]
        names = [spec.name for spec in specs]

        def call(*tensors):
            return self.function(**dict(zip(names, tensors, strict=True)))

        function = tf.function(call, input_signature=specs, autograph=False, jit_compile=self.xla or None)
        return function.get_concrete_function()


class Kind(ABC):
    """A model with the functions that are exported and the answers that are expected from them.

    `plain` is its `serving.kinds.base.Kind`, and `name` the name of it.

    Args:
        model: a model of the zoo.
        settings: `serving.export.Settings`.
    """

    names = ()  # of the plain kinds that it may be
    sides = ("source",)  # one for each tokenizer; "target" is the second where output has its own vocabulary
    text_graph = None  # the signature whose graph may become one of texts (`serving.export.strings`), if any
    overlong = "refuse"  # the default for long texts
    searches = False  # whether answers are found by a search, a loop in the graph
    choices, first = {}, ()  # functions by what `settings.graphs` calls them, and which are chosen for a large network

    def __init__(self, model, settings):
        self.model, self.settings, self.large = model, settings, is_large(model)
        self.plain = KINDS[self.name_of(model.signatures())]
        self.name = self.plain.name
        self.tables = [
            replace(table, outputs=(*table.outputs, *REMARKS)) if table.name == "serving_default" else table
            for table in model.signatures()
        ]
        longest, max_input = self.longest_input(), self.settings.max_input
        if longest and max_input and max_input > longest:
            raise ValueError(
                f"max_input={max_input} is more than this {type(self.model).__name__} reads: it has positions for "
                f"{longest} tokens of a text. Ask for fewer, leave it out, or train a model with more positions."
            )
        most = longest or DEFAULT if max_input is None else max_input
        self.bound = Bound(most, self.settings.overlong or self.overlong, self.plain.part)
        left_out = {name for choice in self.without for name in self.choices[choice]}
        self.functions = {each.name: each for each in self.make_functions() if each.name not in left_out}

    @classmethod
    def name_of(cls, tables):
        """The name of the kind that a model with these signatures is of; None where it is of none of this class."""
        names = {table.name for table in tables}
        return next((name for name in cls.names if name in names), None)

    @property
    def without(self):
        """The choices of graphs that are not written."""
        wanted = self.settings.graphs or (self.first if self.large else ("all",))
        return [] if "all" in wanted else [name for name in self.choices if name not in wanted]

    def table(self, name):
        return find(self.tables, name)

    def longest_input(self):
        """The largest number of tokens of a text for which the model has positions, or None if it has no bound."""
        return answering.max_tokens(self.model)

    @property
    def max_ids(self):
        """The largest number of columns of a matrix of token ids that the SavedModel accepts."""
        return self.bound.max_input

    def most_columns(self, function, name):
        """The largest number of columns that the ids `name` of an exported function may have."""
        return max(self.max_ids, self.settings.max_length) if name == "target_ids" else self.max_ids

    @abstractmethod
    def make_functions(self):
        """An `ExportedFunction` for every signature except `serving_default`, which takes strings."""

    @abstractmethod
    def strings(self, tokenizers, text):
        """`serving_default` in TensorFlow operations, from `(batch,)` strings; there is a `GraphTokenizer` per side."""

    def make_inputs(self, texts):
        """The inputs of `serving_default` for a list of texts: arrays of strings by name."""
        return {"text": np.array(texts, dtype=str)}

    @abstractmethod
    def answer(self, tokenizers, text):
        """The expected answer of `serving_default` to one text, in Python: a dict of arrays without a batch axis."""

    def graph_inputs(self, tokenizers, text):
        """The inputs of a graph that reads one text, or None if it has a blank answer and is not read."""
        reading = self.read(tokenizers[0], text)
        return row(reading.ids) if is_answered(reading) else None

    @abstractmethod
    def cases(self, vocabularies):
        """`(name, inputs)` for the parity check: a function, or "drive", which steps through `target_ids`."""

    def vocabulary(self):
        """The number of token ids that the model knows on each of its sides."""
        model = self.model
        if len(self.sides) == 1:
            return {self.sides[0]: int(model.vocab_size)}
        return {"source": int(model.source_vocab_size), "target": int(model.target_vocab_size)}

    def around(self, tokenizer):
        """What stands around a text that this kind of model reads."""
        return tokenizer.around

    def read(self, tokenizer, text):
        """The `Reading` of one text in Python."""
        (reading,) = self.bound.read([text], tokenizer.encode, self.around(tokenizer))
        return reading

    def read_in_graph(self, tokenizer, text):
        """The same for `(batch,)` texts in TensorFlow: token ids, lengths, `Gated`, and which texts are answered."""
        clipped = gate.clip(self.bound, text)
        around = self.around(tokenizer)
        token_ids, lengths, gated = gate.limit(self.bound, clipped, tokenizer.pieces(clipped.text), around)
        return token_ids, lengths, gated, (lengths > around.size) & ~gate.is_blank(gated.text)

    def extremes(self):
        """Blank texts and texts that are longer than the bound, for the parity check."""
        bound = self.bound
        return ["", " \u3000\u2028 ", "a " * bound.max_input, "a" * (bound.max_characters + 1)]

    def gap(self, inputs, outputs, otherwise):
        """By how much the model's log-probabilities of the two tokens differ where one row is answered `Otherwise`.

        None where the answer is not made of tokens, one behind the other. See `serving.export.parity.expected`.
        """
        return None

    def facts(self):
        """The entries of the manifest that only this kind has."""
        more = {"without": self.without} if self.without or self.large else {}
        return {"max_input": self.bound.max_input, "overlong": self.bound.overlong} | more

    def ask(self, name, **inputs):
        """The results of the exported function `name`, as arrays."""
        tensors = {key: tf.constant(value) for key, value in inputs.items()}
        return {key: value.numpy() for key, value in self.functions[name].traced(**tensors).items()}

    @property
    def graphs(self):
        """{file of a graph: the exported function that is written to it}."""
        return by_graph(self.functions.values())

    def signatures(self):
        """The signatures of the exported functions."""
        return [function.signature for function in self.functions.values()]


def by_graph(functions):
    """{file of a graph: its exported function}; of two that share one, the first needs no further inputs."""
    graphs = {}
    for function in functions:
        if function.graph:
            graphs.setdefault(function.graph, function)
    return graphs


def row(ids):
    """The inputs of a graph for one row of ids."""
    return {"token_ids": np.array([ids], "int32").reshape(1, -1), "lengths": np.array([len(ids)], "int32")}


def remarks(reading):
    """The outputs `errors` and `warnings` of one `Reading`."""
    return {"errors": np.array(reading.error or ""), "warnings": np.array(reading.warning or "")}


def grid(vocab_size, seed=0, most=None, few=False):
    """Inputs for the parity check, random ids for every batch size and time: rows without padding, short rows, and the
    same short rows with ids other than 0 in the padding, which must not change any result. No time is longer than
    `most`. With `few` there are three cases, one of each padding."""
    rng = np.random.default_rng(seed)
    times = TIMES if most is None else sorted({min(time, most) for time in TIMES})
    sizes = FEW if few else [(batch, time, PADDINGS) for batch in BATCHES for time in times]
    for batch, time, paddings in sizes:
        time = min(time, most or time)
        words = rng.integers(FIRST_WORD, vocab_size, (batch, time)).astype("int32")
        ragged = rng.integers(1, time + 1, batch).astype("int32")
        for padding in paddings:
            lengths = np.full(batch, time, "int32") if padding == "full" else ragged
            inside = np.arange(time) < lengths[:, None]
            padded = (words + 1) % vocab_size if padding == "foreign" else 0
            yield {"token_ids": np.where(inside, words, padded).astype("int32"), "lengths": lengths}
