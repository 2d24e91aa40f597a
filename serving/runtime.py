"""Inference on ONNX Runtime, NumPy and SentencePiece alone: no training framework is needed.

runtime = Runtime("build/demo/dates-gru-additive/1")
runtime.run(["3. März 2021"])[0].text
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sentencepiece import SentencePieceProcessor

from serving.artefact import check_files, damaged, find, read_manifest
from serving.sessions import Graphs, run_options

MAX_ROWS = 32  # sentences in one batch
MAX_IDS = 4096  # token ids in one batch, padding included
EMPTY = -1e9  # the score of a slot without a hypothesis, as the decoding graphs write it


@dataclass(frozen=True)
class Hypothesis:
    """One output text and its score: a length-normalised log-probability, higher is better."""

    text: str
    score: float


@dataclass(frozen=True)
class Result:
    """The best output of one input, and the `n_best` hypotheses it heads, best first."""

    text: str
    score: float
    hypotheses: tuple[Hypothesis, ...]


@dataclass(frozen=True)
class Attention:
    """What each output piece looked at: `weights[j, i]` is the share of source piece i in it."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    weights: np.ndarray  # (target, source)


def batches(lengths, max_rows=MAX_ROWS, max_ids=MAX_IDS):
    """Partition positions into lists of similar length, longest first, each within both bounds.

    Longest first, so that the arena of ONNX Runtime reaches its size at once. A sequence longer
    than `max_ids` gets a batch of its own.
    """
    groups = []
    for position in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        group = groups[-1] if groups else None
        if group and len(group) < max_rows and (len(group) + 1) * lengths[group[0]] <= max_ids:
            group.append(position)
        else:
            groups.append([position])
    return groups


def padded(sequences):
    """Sequences of ids -> `token_ids (batch, time)` padded with 0 and `lengths (batch,)`, int32."""
    lengths = np.array([len(sequence) for sequence in sequences], "int32")
    token_ids = np.zeros((len(sequences), lengths.max()), "int32")
    for row, sequence in zip(token_ids, sequences, strict=True):
        row[: len(sequence)] = sequence
    return token_ids, lengths


class Runtime:
    """An artefact, opened for inference. Graphs load at first use and stay loaded.

    Args:
        directory: the artefact, `name/version/`.
        threads: inside one operator; None leaves the choice to ONNX Runtime (physical cores).
        precision: "float32", or "int8" if the artefact holds the quantised graphs.
        verify: compare every file with its SHA-256 in the manifest first.

    Raises:
        ValueError: no artefact there, a damaged one, or one without the precision asked for.
        TypeError: threads is not an integer.
    """

    def __init__(self, directory, *, threads=None, precision="float32", verify=False):
        self.directory = Path(directory)
        self.manifest = read_manifest(self.directory)
        if verify:
            check_files(self.directory, self.manifest)
        self._graphs = Graphs(self.directory, precision, threads)
        tokenizer = self.manifest["tokenizer"]
        self._source = self._load_tokenizer(tokenizer["source"])
        self._target = self._load_tokenizer(tokenizer["target"])
        self._end = [self._source.eos_id()] if tokenizer.get("add_eos", True) else []

    @property
    def beams(self):
        """The beam widths that the artefact has a graph for, ascending."""
        return tuple(sorted(int(width) for width in self.manifest["generation"]))

    @property
    def default_beam(self):
        return int(self.manifest["default_beam"])

    def run(self, texts, beam=None, n_best=1):
        """One `Result` per text, in their order; a blank text gives a blank result with score 0.

        Args:
            texts: a list of strings.
            beam: a width from `beams`; None is the artefact's default.
            n_best: how many hypotheses a result holds; at most `beam`.

        Raises:
            TypeError: texts is one string, or holds something else than strings.
            ValueError: no graph for this beam, or n_best outside 1..beam.
        """
        sources = self._encode(texts)
        beam = self._check_beam(beam)
        if not 1 <= n_best <= beam:
            raise ValueError(
                f"n_best must lie between 1 and the beam width {beam}; received {n_best}. "
                f"Beam widths of {self.manifest['name']}: {list(self.beams)}."
            )
        blank = (Hypothesis("", 0.0),)
        hypotheses = [blank] * len(sources)
        spoken = [position for position, ids in enumerate(sources) if ids]
        for group in batches([len(sources[position]) for position in spoken]):
            rows = [spoken[index] for index in group]
            found = self._generate([sources[row] for row in rows], beam)
            for row, ids, lengths, scores in zip(rows, *found, strict=True):
                hypotheses[row] = self._read(ids, lengths, scores, n_best)
        return [Result(best[0].text, best[0].score, best) for best in hypotheses]

    def attention(self, text, beam=None):
        """`Attention` of the best output of `text`: what is weighed before each piece is written.

        The output is the one that `run` finds; `encoder.onnx` and `step.onnx` are then driven along
        it, in float32 whatever the precision of the search.

        Raises:
            TypeError: text is not a string.
            ValueError: text is blank, or the artefact's model has no attention.
        """
        if not isinstance(text, str):
            raise TypeError(f"attention expects one string; received {type(text).__name__}.")
        (source,) = self._encode([text])
        if not source:
            raise ValueError(f"attention expects a text with content; received {text!r}.")
        ids, lengths, _ = self._generate([source], self._check_beam(beam))
        output = ids[0, 0, : lengths[0, 0]].tolist()
        pieces = (*output, self._target.eos_id())[: ids.shape[-1]]
        weights = self._weights(source, (self._target.bos_id(), *pieces[:-1]))
        return Attention(
            tuple(self._source.id_to_piece([*source, *self._end])),
            tuple(self._target.id_to_piece(list(pieces))),
            weights,
        )

    def _weights(self, source, written):
        """Attention weights (written, source time) while the ids `written` are fed one by one."""
        encoder = self._graphs.open("encoder.onnx", "float32")
        step = self._graphs.open("step.onnx", "float32")
        outputs = [name for name in _names(step.get_outputs()) if name.startswith("next_state.")]
        if "next_state.attention" not in outputs:
            raise ValueError(
                f"{self.manifest['name']} keeps no attention weights: it was trained without "
                "attention. Choose a system with attention."
            )
        sentence = padded([[*source, *self._end]])
        fed = dict(zip(_names(encoder.get_inputs()), sentence, strict=True))
        known = dict(zip(_names(encoder.get_outputs()), encoder.run(None, fed), strict=True))
        rows = []
        for token in written:
            known["token_ids"] = np.array([[token]], "int32")
            found = step.run(outputs, {name: known[name] for name in _names(step.get_inputs())})
            for name, value in zip(outputs, found, strict=True):
                known[name.removeprefix("next_")] = value
            rows.append(known["state.attention"][0, 0])
        return np.stack(rows).astype("float32")

    def _encode(self, texts):
        if isinstance(texts, str):
            raise TypeError(f"Expected a list of strings; received one string. Write [{texts!r}].")
        texts = list(texts)
        for position, text in enumerate(texts):
            if not isinstance(text, str):
                raise TypeError(
                    f"Expected a list of strings; received {type(text).__name__} at position {position}: {text!r}."
                )
        return self._source.encode(texts, out_type=int)

    def _generate(self, sources, beam):
        """Ids (batch, beams, time), lengths and scores (batch, beams), the best beam first."""
        session = self._graphs.open(self.manifest["generation"][str(beam)])
        token_ids, lengths = padded([[*source, *self._end] for source in sources])
        return session.run(
            ["output_ids", "output_lengths", "scores"],
            {"token_ids": token_ids, "lengths": lengths},
            run_options(),
        )

    def _read(self, ids, lengths, scores, n_best):
        """Hypotheses of one row: the first, and of the others those that there are."""
        alive = max(1, int((scores[:n_best] > EMPTY).sum()))
        texts = self._target.decode(
            [row[:length].tolist() for row, length in zip(ids[:alive], lengths[:alive], strict=True)]
        )
        return tuple(Hypothesis(text, float(score)) for text, score in zip(texts, scores[:alive], strict=True))

    def _check_beam(self, beam):
        beam = self.default_beam if beam is None else beam
        if beam not in self.beams:
            raise ValueError(
                f"{self.manifest['name']} has no graph for beam {beam}; it has {list(self.beams)}. "
                f"Write one with `seqzoo export RUN --beam {self.default_beam} --beam {beam}`."
            )
        return beam

    def _load_tokenizer(self, name):
        processor = SentencePieceProcessor()
        try:
            processor.LoadFromSerializedProto(find(self.directory, name).read_bytes())
        except RuntimeError as error:
            raise damaged(self.directory / name, error) from error
        return processor


def _names(nodes):
    return [node.name for node in nodes]
