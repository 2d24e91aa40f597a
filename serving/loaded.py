"""The parts of an artefact, opened: manifest, graphs, tokenizers; and batches of sequences through a graph."""

import numpy as np
from sentencepiece import SentencePieceProcessor

from serving import bounds
from serving.artefact import Artefact, damaged
from serving.errors import DamagedError, ServingError, UnsupportedError
from serving.reading import DEFAULT, Bound
from serving.sessions import Graphs

MAX_SEQUENCES = 32  # sequences in one batch
MAX_BEAMS = 128  # beams in one batch, of all its sequences
MAX_IDS = 4096  # token ids in one batch, padding included
MAX_PAIRS = 1 << 21  # pairs of positions in one batch: what attention holds for each of its heads


def batches(lengths, max_sequences=MAX_SEQUENCES, max_ids=MAX_IDS, max_pairs=MAX_PAIRS):
    """Partition positions into lists of similar length, longest first, each within all bounds.

    Longest first, so that the arena of ONNX Runtime reaches its size at once. A sequence that is by itself
    beyond a bound gets a batch of its own.
    """
    groups = []
    for position in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        group = groups[-1] if groups else None
        longest = lengths[group[0]] if group else 0
        most = min(max_sequences, max_ids // max(1, longest), max_pairs // max(1, longest**2))
        if group and len(group) < most:
            group.append(position)
        else:
            groups.append([position])
    return groups


def padded(sequences):
    """Sequences of ids -> `token_ids (batch, time)` padded with 0 and `lengths (batch,)`, int32; time is at least 1."""
    lengths = np.array([len(sequence) for sequence in sequences], "int32")
    token_ids = np.zeros((len(sequences), max(1, lengths.max())), "int32")
    for row, sequence in zip(token_ids, sequences, strict=True):
        row[: len(sequence)] = sequence
    return token_ids, lengths


class Outputs(dict):
    """Outputs of a graph by name, and the path of the graph."""

    def __init__(self, values, path):
        super().__init__(values)
        self.path = path

    def __missing__(self, name):
        raise DamagedError(
            f"{self.path} is not the graph that its manifest says: expected the output {name!r}, it has {list(self)}. "
            "Copy the artefact again, or export it again."
        )


class Loaded:
    """Graphs load at first use and stay loaded.

    Args: as of `serving.runtime.Runtime`.
    """

    def __init__(self, directory, threads, precision, verify, overlong=None):
        self.artefact = Artefact(directory, verify)
        self.directory, self.manifest = self.artefact.directory, self.artefact.manifest
        self.name, self.graphs = self.manifest["name"], Graphs(self.artefact, precision, threads)
        tokenizers = {side: self._tokenizer(side, name) for side, name in self.manifest["tokenizer"].items()}
        self.source = tokenizers["source"]
        self.target = tokenizers.get("target", self.source)
        self.end = [self.source.eos_id()]  # what ends a source
        self.bound = bound(self.manifest, overlong)

    def _tokenizer(self, side, name):
        processor, content = SentencePieceProcessor(), self.artefact.read(name)
        try:
            processor.LoadFromSerializedProto(content)
        except RuntimeError as error:
            raise damaged(self.directory / name, error) from error
        known = self.manifest["vocabulary"].get(side, processor.vocab_size())
        if processor.vocab_size() != known or min(processor.eos_id(), processor.unk_id()) < 0:
            raise DamagedError(
                f"{self.directory / name} is not the tokenizer of these graphs: expected {known} pieces, the unknown "
                f"one and the end of sentence among them; it has {processor.vocab_size()}. Export the artefact again."
            )
        return processor

    def graph(self, signature):
        """The file that answers to a signature.

        Raises:
            UnsupportedError: the artefact has none, as one that was exported before there was such a signature.
        """
        if signature not in self.manifest["graphs"]:
            raise UnsupportedError(
                f"{self.directory} holds no graph for {signature!r}; it holds those for "
                f"{sorted(self.manifest['graphs'])}. Export its run again with this seqzoo."
            )
        return self.manifest["graphs"][signature]

    def read(self, texts, end=True):
        """A `Reading` of each text, with the end of sentence behind its ids or without."""
        return self.bound.read(listed(texts), self.ids, self.end if end else [])

    def read_words(self, texts):
        """A `Reading` of each text, whose words are encoded by themselves."""
        unknown = [self.source.unk_id()]
        return self.bound.read_words(listed(texts), lambda words: [ids or unknown for ids in self.ids(words)], self.end)

    def ids(self, texts):
        """Token ids of each text, however long."""
        return self.source.encode(texts, out_type=int)

    def decode(self, sequences):
        """The text of each list of ids."""
        try:
            return self.target.decode(sequences)
        except IndexError as error:  # only where no `vocabulary` in the manifest tells it earlier
            name = self.manifest["tokenizer"].get("target", self.manifest["tokenizer"]["source"])
            raise damaged(self.directory / name, f"it lacks a piece that a graph has written ({error})") from error

    def run(self, graph, inputs, precision=None):
        """Outputs by name; of `inputs` the graph takes what it knows.

        Raises:
            ValueError: no row, an id that is not of the vocabulary, or a length that is not within the time axis.
            DamagedError: the graph asks for an input that there is not.
            ServingError: ONNX Runtime fails.
        """
        session = self.graphs.open(graph, precision)
        wanted = [node.name for node in session.get_inputs()]
        missing = sorted(set(wanted) - inputs.keys())
        if missing:
            raise DamagedError(
                f"{self.directory / graph} is not the graph that its manifest says: it asks for {missing}, which is "
                f"not among {sorted(inputs)}. Export the artefact again."
            )
        inputs = {name: np.asarray(value) for name, value in inputs.items()}
        signature = "step" if graph == self.manifest["graphs"].get("step") else "other"
        bounds.check(self.manifest["kind"], signature, inputs, self.manifest["vocabulary"])
        names = [node.name for node in session.get_outputs()]
        try:
            with self.graphs.turns:
                found = session.run(names, {name: inputs[name] for name in wanted})
        except Exception as error:  # ONNX Runtime's errors share no base but Exception
            raise ServingError(f"{self.directory / graph} could not answer: {error}") from error
        return Outputs(zip(names, found, strict=True), self.directory / graph)

    def run_all(self, graph, sequences, beams=1, **more):
        """Outputs by name for each sequence of ids, in their order; `more`: further inputs, a row for each sequence."""
        answers = [None] * len(sequences)
        for group in batches([len(sequence) for sequence in sequences], max(1, min(MAX_SEQUENCES, MAX_BEAMS // beams))):
            token_ids, lengths = padded([sequences[row] for row in group])
            inputs = {name: values[group] for name, values in more.items()}
            found = self.run(graph, {"token_ids": token_ids, "lengths": lengths, **inputs})
            for place, row in enumerate(group):
                answers[row] = Outputs({name: values[place] for name, values in found.items()}, found.path)
        return answers


def bound(manifest, overlong=None):
    """The `Bound` of an artefact: its manifest's, or that of artefacts which were written before there was one."""
    goes_on = manifest["kind"] == "continue"  # a language model reads the end of its prompt
    chosen = overlong or manifest.get("overlong") or ("truncate" if goes_on else "refuse")
    return Bound(manifest.get("max_input") or DEFAULT, chosen, "last" if goes_on else "first")


def listed(texts):
    """The texts as a list.

    Raises:
        TypeError: one string, or something else than strings in it.
    """
    if isinstance(texts, str):
        raise TypeError(f"Expected a list of strings; received one string. Write [{texts!r}].")
    texts = list(texts)
    for position, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(
                f"Expected a list of strings; received {type(text).__name__} at position {position}: {text!r}."
            )
    return texts
