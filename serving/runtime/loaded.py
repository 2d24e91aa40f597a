"""An opened artefact: its manifest, graphs and tokenizers; and running a graph on batches of sequences.

`run_rows` runs signatures of token ids, row by row: what a graph answers to the rows of several callers at once.
"""

import contextlib
import math

import numpy as np

from serving.kinds import KINDS, rules
from serving.lazy import later
from serving.runtime import bounds, usual
from serving.runtime.artefact import damaged_error, open_artefact
from serving.runtime.errors import DamagedError, ServingError, StoppedError, UnsupportedError
from serving.runtime.reading import Bound, as_list, join_words
from serving.runtime.sessions import Graphs, current

text_of_zoo = later("zoo.text")
words_of = later("zoo.text.words")

STEPS = ("encode", "step")  # the two halves of a search for a driver of its own; their states are no rows
MAX_SEQUENCES = 32  # sequences in one batch
MAX_BEAMS = 128  # beams in one batch, of all its sequences
MAX_IDS = 4096  # token ids in one batch, including padding
MAX_PAIRS = 1 << 21  # pairs of positions in one batch: the size of the attention weights of a head
MAX_PADDING = {"read": 64, "search": 256}  # ids of padding in one batch: more would cost more than another run, which
# costs more where it has all the steps of a search


def batches(lengths, max_sequences=MAX_SEQUENCES, max_ids=MAX_IDS, max_pairs=MAX_PAIRS, max_padding=math.inf):
    """Group the positions of sequences into batches of similar length, each within all bounds.

    The longest come first, so that the memory arena of ONNX Runtime reaches its final size at once. A sequence that
    exceeds a bound by itself gets its own batch.
    """
    groups, padding = [], 0
    for position in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        group = groups[-1] if groups else None
        longest = lengths[group[0]] if group else 0
        most = min(max_sequences, max_ids // max(1, longest), max_pairs // max(1, longest**2))
        padding += longest - lengths[position]
        if group and len(group) < most and padding <= max_padding:
            group.append(position)
        else:
            groups.append([position])
            padding = 0
    return groups


def padded(sequences):
    """Sequences of ids as `token_ids (batch, time)` padded with 0 and `lengths (batch,)`, int32; time is at least 1."""
    lengths = np.array([len(sequence) for sequence in sequences], "int32")
    token_ids = np.zeros((len(sequences), max(1, lengths.max())), "int32")
    for row, sequence in zip(token_ids, sequences, strict=True):
        row[: len(sequence)] = sequence
    return token_ids, lengths


class Outputs(dict):
    """The outputs of a graph by name, and the path of the graph for error messages."""

    def __init__(self, values, path):
        super().__init__(values)
        self.path = path

    def __missing__(self, name):
        raise DamagedError(
            f"{self.path} does not fit its manifest: expected the output {name!r}, it has {list(self)}. "
            "Copy the artefact again, or export it again."
        )


class Loaded:
    """An opened artefact. A graph is loaded at its first use and stays loaded.

    Args: as of `serving.runtime.Runtime`.
    """

    def __init__(self, directory, threads, precision, verify, overlong=None, shortlist=False):
        self.artefact = open_artefact(directory, verify)
        self.directory, self.manifest = self.artefact.directory, self.artefact.manifest
        self.kind, self.name = _kind_of(self.manifest, self.directory), self.manifest["name"]
        self.graphs = Graphs(self.artefact, precision, threads)
        tokenizers = {side: self._tokenizer(side, name) for side, name in self.manifest["tokenizer"].items()}
        self.source = tokenizers["source"]
        self.target = tokenizers.get("target", self.source)
        self.bound = bound(self.manifest, overlong)
        self.uses_shortlist = shortlist
        self.generation = self._shortlist_graphs() if shortlist else self.manifest.get("generation", {})

    @property
    def max_padding(self):
        """The most ids of padding in a batch."""
        return MAX_PADDING["search" if self.kind.writes else "read"]

    def _shortlist_graphs(self):
        """The graphs by beam width that search over a shortlist."""
        if "shortlist" not in self.manifest:
            raise ValueError(
                f"{self.artefact.origin} has no graph with a shortlist: expected `shortlist` in its manifest. Leave "
                "shortlist (--shortlist) out, or write an artefact that has one, if it reads one text and writes "
                f"another, with `{self.artefact.export_command('--shortlist', 100, '--data', 'CORPUS')}`."
            )
        return self.manifest["shortlist"]["generation"]

    def _tokenizer(self, side, name):
        try:
            tokenizer = text_of_zoo.load_tokenizer(self.artefact.read(name))
        except ValueError as error:
            raise damaged_error(self.directory / name, error) from error
        size = self.manifest["vocabulary"][side]
        if tokenizer.vocab_size != size:
            raise DamagedError(
                f"{self.directory / name} does not fit the graphs: expected a tokenizer of {size} pieces; received "
                f"one of {tokenizer.vocab_size} pieces. Export the artefact again."
            )
        return tokenizer

    def graph(self, signature):
        """The file with the graph of a signature.

        Raises:
            UnsupportedError: the artefact has no such graph, because it was exported, or published, without it.
        """
        if signature not in self.manifest["graphs"]:
            why, how = "was exported without it", ("--graphs", "all")
            if "left_out" in self.manifest and not self.manifest.get("without"):
                why, how = "was published without it", ()
            raise UnsupportedError(
                f"{self.artefact.origin} holds no graph for {signature!r}; it holds those for "
                f"{sorted(self.manifest['graphs'])}, and {why}. Write an artefact that has it with "
                f"`{self.artefact.export_command(*how)}`."
            )
        return self.manifest["graphs"][signature]

    def read(self, texts, end=True):
        """A `Reading` of each text; without `end`, nothing stands behind its ids."""
        around = self.source.around if end else (self.source.before, ())
        return self._warn_unusual(self.bound.read(as_list(texts), self.ids, around))

    def read_words(self, texts, rule=None):
        """A `Reading` of each text, in which each word is encoded separately.

        Args:
            texts: strings, and lists of the words of a text.
            rule: what cuts strings into words; None is the rule of the artefact.

        Raises:
            ValueError: there is no such rule.
        """
        rule = self.manifest.get("words", "spaces") if rule is None else rule
        if rule not in words_of.RULES:
            raise ValueError(f"words must be one of {', '.join(words_of.RULES)}; received {rule!r}.")
        (texts, cut), around = join_words(texts), self.source.around
        readings = self.bound.read_words(texts, self.source.encode_words, around, rule=rule, cut=cut)
        return self._warn_unusual(readings)

    def _warn_unusual(self, readings):
        """The readings of texts, with a warning where a text is unlike those that validated the model."""
        limits = self.manifest.get("usual")
        if limits is None:
            return readings
        return [usual.warn_unusual(reading, limits, self.source.log_probabilities) for reading in readings]

    def ids(self, texts):
        """The token ids of each whole text."""
        return self.source.encode(texts)

    def decode(self, sequences):
        """The text of each list of ids."""
        try:
            return self.target.decode(sequences)
        except ValueError as error:
            name = self.manifest["tokenizer"].get("target", self.manifest["tokenizer"]["source"])
            raise damaged_error(
                self.directory / name, f"it lacks a piece that a graph has written ({error})"
            ) from error

    def run(self, graph, inputs, precision=None):
        """The outputs of a graph by name. `inputs` that the graph does not have are ignored.

        Raises:
            ValueError: the batch is empty, an id is not in the vocabulary, or a length is not within the time axis.
            DamagedError: the graph has an input that is not in `inputs`.
            StoppedError: it was ended by a `serving.runtime.sessions.Stop`.
            ServingError: ONNX Runtime reports an error.
        """
        opened = self.graphs.open(graph, precision)
        search_rules = rules.GRAPH_INPUTS & inputs.keys()
        if not search_rules <= {*opened.inputs, *opened.optional}:
            raise UnsupportedError(
                f"{self.artefact.origin} has a search that does not take all of the rules "
                f"{', '.join(sorted(search_rules))}. Write an artefact that takes them with "
                f"`{self.artefact.export_command()}`."
            )
        names = [*opened.inputs, *((search_rules | {"n_best"}) & inputs.keys() & opened.optional)]
        missing = [name for name in names if name not in inputs]
        if missing:
            raise DamagedError(
                f"{opened.path} does not fit its manifest: it needs the inputs {sorted(missing)}, and its kind of "
                f"artefact has {sorted(inputs)}. Export the artefact again."
            )
        inputs = {name: np.asarray(value) for name, value in inputs.items()}
        signature = "step" if graph == self.manifest["graphs"].get("step") else "other"
        bounds.check(self.kind, signature, inputs, self.manifest["vocabulary"])
        stop = current()
        if stop and stop.is_ended:
            raise StoppedError("the run was ended before it began.")
        session = opened.session_for(names)
        try:
            with contextlib.nullcontext() if stop else self.graphs.turns:
                feeds = {name: inputs[name] for name in names}
                outputs = session.run(opened.outputs, feeds, stop and stop.options)
        except Exception as error:  # the only common base class of ONNX Runtime's errors
            if stop and stop.is_ended:
                raise StoppedError("the run was ended.") from None
            raise ServingError(f"{opened.path} could not answer: ONNX Runtime says: {error}") from error
        return Outputs(zip(opened.outputs, outputs, strict=True), opened.path)

    def run_all(self, graph, sequences, beams=1, **more):
        """The outputs by name for each sequence of ids, in order. `more`: further inputs, a row for each sequence."""

        def inputs_of(group):
            token_ids, lengths = padded([sequences[row] for row in group])
            return {"token_ids": token_ids, "lengths": lengths} | {name: each[group] for name, each in more.items()}

        return self.run_batches(graph, [len(sequence) for sequence in sequences], inputs_of, beams)

    def run_pairs(self, graph, pairs):
        """The outputs by name for each pair of sequences of ids, in order."""

        def inputs_of(group):
            inputs = {}
            for place, side in enumerate(("first", "second")):
                inputs[f"{side}_ids"], inputs[f"{side}_lengths"] = padded([pairs[row][place] for row in group])
            return inputs

        return self.run_batches(graph, [max(map(len, both)) for both in pairs], inputs_of)

    def batches(self, lengths, beams=1):
        """`batches` for a graph of this artefact."""
        return batches(lengths, max(1, min(MAX_SEQUENCES, MAX_BEAMS // beams)), max_padding=self.max_padding)

    def run_batches(self, graph, lengths, inputs_of, beams=1):
        """The outputs by name for each row of so many ids, in order; `inputs_of` gives those of a group of rows."""
        answers = [None] * len(lengths)
        for group in self.batches(lengths, beams):
            outputs = self.run(graph, inputs_of(group))
            for place, row in enumerate(group):
                answers[row] = Outputs({name: values[place] for name, values in outputs.items()}, outputs.path)
        return answers


def _kind_of(manifest, directory):
    """The kind of an artefact, if this seqzoo knows it."""
    if manifest["kind"] not in KINDS:
        raise UnsupportedError(
            f"{directory} is of the kind {manifest['kind']!r}, which this seqzoo does not know; it knows "
            f"{list(KINDS)}. Install a newer seqzoo."
        )
    return KINDS[manifest["kind"]]


def bound(manifest, overlong=None):
    """The `Bound` of an artefact, from its manifest."""
    return Bound(manifest["max_input"], overlong or manifest["overlong"], KINDS[manifest["kind"]].part)


def row_signatures(manifest):
    """The tables of the manifest, by name, of the signatures whose inputs and outputs are rows of ids and numbers.

    As in a SavedModel, the rules that a graph takes besides, each with a default, are inputs of `tokens_rules` alone.
    """
    tables = {
        table["name"]: table | {"inputs": [spec for spec in table["inputs"] if "default" not in spec]}
        for table in manifest["signatures"]
    }
    return {name: table for name, table in tables.items() if name in manifest["graphs"] and name not in STEPS}


def length_name(ids):
    """The name of the input with the lengths of the ids in input `ids`.

    >>> from serving.runtime.loaded import length_name
    >>> length_name("token_ids"), length_name("source_ids")
    ('lengths', 'source_lengths')
    """
    return "lengths" if ids == "token_ids" else ids.replace("_ids", "_lengths")


def run_rows(loaded, table, rows):
    """The outputs of a signature for each row, in order: dicts of arrays without the batch axis.

    Rows are put into batches of similar length, as `Loaded.batches` has them. The axes of an output that grow with the
    inputs are those of the batch: the caller cuts what is beyond a row's own.

    Args:
        loaded: `serving.runtime.loaded.Loaded`.
        table: the signature, as the manifest has it.
        rows: dicts by input name. Ids are lists without padding, and their lengths are not given; the other inputs are
            arrays without the batch axis, of one shape.

    Raises: as of `Loaded.run`.
    """
    names = [spec["name"] for spec in table["inputs"]]
    sides = [name for name in names if name.endswith("_ids")]
    others = [name for name in names if name not in sides and name not in map(length_name, sides)]
    beams = max((axis for spec in table["outputs"] for axis in spec["shape"][1:2] if type(axis) is int), default=1)
    longest = [max(len(row[name]) for name in sides) for row in rows]

    def inputs_of(group):
        inputs = {name: np.stack([rows[row][name] for row in group]) for name in others}
        for name in sides:
            inputs[name], inputs[length_name(name)] = padded([rows[row][name] for row in group])
        return inputs

    return loaded.run_batches(loaded.graph(table["name"]), longest, inputs_of, beams)
