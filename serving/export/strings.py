"""The graphs of texts, `--strings`: what they need, how they are written, and how they are compared with the runtime.

`python -m serving.export.strings DIRECTORY TEXTS REPORT` compares, in a process without TensorFlow and the zoo.
"""

import importlib.util
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from serving.kinds import KINDS
from serving.lazy import later
from serving.runtime import Runtime, own
from serving.runtime.artefact import read_manifest
from serving.runtime.errors import ParityError, UnsupportedError
from serving.runtime.manifest_format import int8_name
from serving.runtime.sessions import open_graph, session_options

convert = later("serving.export.onnx.convert")
extensions = later("onnxruntime_extensions")
onnx = later("onnx")
text_graphs = later("serving.export.onnx.strings")

GRAPHS = {"float32": "strings.onnx", "int8": "strings.int8.onnx"}
TOLERANCE = 1e-4
MOST_BYTES = 2**31 - 2**26  # of weights in one ONNX file, whose format ends at 2 GiB
ODD = (
    "e\u0301 is é, \u202eright\u202c to left, a\u200db\u200bc\ufeffd",
    "\U0001f469\u200d\U0001f680 漢字かな 한국어 \ufb01 \u2460 \uff21\uff22 \U0001d400",
    "tab\tline\nreturn\r bell\x07 \x7f \x85 \ue000 \ufffd \U0010ffff",
    "x" * 60,
)


def check_installed():
    """Check that onnxruntime-extensions is installed, whose operators the graphs have.

    Raises:
        UnsupportedError: it is not.
    """
    if importlib.util.find_spec("onnxruntime_extensions") is None:
        raise UnsupportedError(
            "Graphs of texts (--strings) need onnxruntime-extensions, and it is not installed. Install it: "
            "pip install 'seqzoo[strings]'."
        )


def check_model(kind, tokenizers):
    """Check that a model of this kind, with these tokenizers, can have a graph of texts.

    Raises:
        ValueError: it cannot; the message says why.
    """
    if kind.text_graph is None:
        raise ValueError(
            f"A graph of texts (--strings) is written of a model that writes one text for another, or labels one; this "
            f"one is of the kind {kind.name!r}. Leave --strings out."
        )
    others = sorted({tokenizer.kind for tokenizer in tokenizers if tokenizer.kind})
    if others:
        raise ValueError(
            f"A graph of texts (--strings) has tokenizers of SentencePiece; this model's are {', '.join(others)}. "
            "Leave --strings out."
        )
    if kind.bound.overlong != "refuse":
        raise ValueError(
            f"A graph of texts (--strings) refuses a text that is too long; received overlong={kind.bound.overlong!r}. "
            "Leave one of them out."
        )


def write(kind, tokenizers, directory, log):
    """Write a graph of texts beside the default graph of the model, and one beside its int8 form if it has one.

    Raises:
        ValueError: the weights of all are too large for one file.
    """
    graph = kind.functions[kind.text_graph].graph
    for name, source in zip(GRAPHS.values(), (graph, int8_name(graph)), strict=True):
        model = onnx.load(directory / source) if (directory / source).is_file() else None
        if model and sum(len(tensor.raw_data) for tensor in model.graph.initializer) > MOST_BYTES:
            log(f"{name} is left out: its weights would be more than {MOST_BYTES:,} bytes in one file")
        elif model:
            convert.write(text_graphs.with_strings(model, kind, tokenizers), directory / name)
    if not any((directory / name).is_file() for name in GRAPHS.values()):
        raise ValueError("No graph of texts (--strings) was written: one file cannot hold the weights. Leave it out.")


def compare(kind, directory, texts):
    """The report of a new process that asked the graphs of texts and the runtime: how many texts, how far the scores.

    Raises:
        ParityError: an answer, an error or a warning differs, or the process did not finish.
    """
    with tempfile.TemporaryDirectory() as work:
        texts_file, report = Path(work) / "texts.json", Path(work) / "report.json"
        texts_file.write_text(json.dumps([*texts, *kind.extremes(), *ODD]), encoding="utf-8")
        command = own.command("serving.export.strings", directory, texts_file, report)
        process = subprocess.run(command, capture_output=True, text=True, errors="replace")
        if not report.is_file():
            raise ParityError(
                f"The graphs of texts of {directory} were not compared (exit {process.returncode}):\n"
                f"{process.stderr[-2000:]}"
            )
        differences = json.loads(report.read_text(encoding="utf-8"))
    failures = differences.pop("failures")
    if failures:
        raise ParityError(
            "\n  ".join([f"Graphs of texts of {directory} answer otherwise than the runtime:", *failures])
        )
    return differences


def open_session(path):
    """A session of ONNX Runtime for a graph of texts."""
    options = session_options(1)
    options.register_custom_ops_library(extensions.get_library_path())
    return open_graph(path, options)


def answers(session, texts):
    """What a graph of texts answers, `{output: value}` for each text."""
    (input_node,), outputs = session.get_inputs(), [node.name for node in session.get_outputs()]
    columns = session.run(None, {input_node.name: np.array(texts, dtype=object)})
    return [dict(zip(outputs, row, strict=True)) for row in zip(*columns, strict=True)]


def _expected_answer(kind, result):
    """The answer of the runtime with the names of the outputs, numbers first."""
    notes = {"errors": result.error or "", "warnings": result.warning or ""}
    columns = kind.columns(None)
    answer, score = (value(result) for _, value in (columns["answer"], columns["score"]))
    return np.float64(score), {kind.mark: answer, **notes}


def _differences(directory, texts):
    manifest, failures, largest = read_manifest(directory), [], 0.0
    graphs = {precision: name for precision, name in GRAPHS.items() if name in manifest["files"]}
    for precision, name in graphs.items():
        runtime, graph = Runtime(directory, precision=precision, threads=1), open_session(Path(directory) / name)
        runtime.manifest.pop("usual", None)  # which a graph of texts does not compare with
        batch = answers(graph, texts)
        for text, together in zip(texts, batch, strict=True):
            number, rest = _expected_answer(KINDS[runtime.kind], runtime.run([text])[0])
            for how, received in (("", answers(graph, [text])[0]), (" in a batch", together)):
                score = received.get("scores", np.max(received.get("probabilities", 0)))
                difference = abs(float(score) - number) / max(1, abs(number))
                largest = max(largest, difference)
                differing = [key for key, value in rest.items() if received[key] != value]
                # In a batch sums have another order, so an answer may be another one that is as good.
                if difference > TOLERANCE or (differing and not (how and rest["errors"] == received["errors"])):
                    failures.append(f"{name}, {text[:60]!r}{how}: expected {number, rest}, received {received}")
    return {
        "graphs": list(graphs.values()),
        "signature": "serving_default",
        "texts": len(texts),
        "max_abs_diff": largest,
        "failures": failures[:8],
    }


def main(directory, texts, report):
    differences = _differences(directory, json.loads(Path(texts).read_text(encoding="utf-8")))
    Path(report).write_text(json.dumps(differences), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
