"""The parts of an artefact, opened: manifest, graphs, tokenizers; and batches of sequences through a graph."""

from pathlib import Path

import numpy as np
from sentencepiece import SentencePieceProcessor

from serving.artefact import check_files, damaged, find, read_manifest
from serving.sessions import Graphs, run_options

MAX_SEQUENCES = 32  # sequences in one batch
MAX_IDS = 4096  # token ids in one batch, padding included


def batches(lengths, max_sequences=MAX_SEQUENCES, max_ids=MAX_IDS):
    """Partition positions into lists of similar length, longest first, each within both bounds.

    Longest first, so that the arena of ONNX Runtime reaches its size at once. A sequence longer
    than `max_ids` gets a batch of its own.
    """
    groups = []
    for position in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        group = groups[-1] if groups else None
        if group and len(group) < max_sequences and (len(group) + 1) * lengths[group[0]] <= max_ids:
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


class Loaded:
    """Graphs load at first use and stay loaded.

    Args: as of `serving.runtime.Runtime`.
    """

    def __init__(self, directory, threads, precision, verify):
        self.directory = Path(directory)
        self.manifest = read_manifest(self.directory)
        if verify:
            check_files(self.directory, self.manifest)
        self.name, self.graphs = self.manifest["name"], Graphs(self.directory, precision, threads)
        tokenizers = {side: self._tokenizer(name) for side, name in self.manifest["tokenizer"].items()}
        self.source = tokenizers["source"]
        self.target = tokenizers.get("target", self.source)
        self.end = [self.source.eos_id()]  # what ends a source

    def _tokenizer(self, name):
        processor = SentencePieceProcessor()
        try:
            processor.LoadFromSerializedProto(find(self.directory, name).read_bytes())
        except RuntimeError as error:
            raise damaged(self.directory / name, error) from error
        return processor

    def encode(self, texts):
        """Ids of each text, without EOS."""
        return self.source.encode(listed(texts), out_type=int)

    def run(self, graph, inputs, precision=None):
        """Outputs by name; of `inputs` the graph takes what it knows."""
        session = self.graphs.open(graph, precision)
        fed = {node.name: np.asarray(inputs[node.name]) for node in session.get_inputs()}
        names = [node.name for node in session.get_outputs()]
        return dict(zip(names, session.run(names, fed, run_options()), strict=True))

    def run_all(self, graph, sequences, **more):
        """Outputs by name for each sequence of ids, in their order; `more`: further inputs, a row for each sequence."""
        answers = [None] * len(sequences)
        for group in batches([len(sequence) for sequence in sequences]):
            token_ids, lengths = padded([sequences[row] for row in group])
            inputs = {name: values[group] for name, values in more.items()}
            found = self.run(graph, {"token_ids": token_ids, "lengths": lengths, **inputs})
            for place, row in enumerate(group):
                answers[row] = {name: values[place] for name, values in found.items()}
        return answers


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
