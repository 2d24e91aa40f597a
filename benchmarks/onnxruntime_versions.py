"""Which versions of ONNX Runtime answer as the installed one does, to single rows and to padded batches.

    python benchmarks/onnxruntime_versions.py ARTEFACT... --versions 1.20.1 1.21.1 1.24.4 --home FOLDER

makes a virtual environment for each version below FOLDER (kept and used again), asks every `*.onnx` there, `step.onnx`
by driving it behind `encoder.onnx`, and writes benchmarks/results/onnxruntime_versions.json. A graph is wrong where an
output differs by more than 1e-4; of an int8 graph, whose kernels round otherwise from version to version, by more than
2e-2. `serving.export.onnx.graphs.requirements` holds what was learnt.
"""

import argparse
import json
import pickle
import subprocess
import sys
import venv
from pathlib import Path

import numpy as np
import onnxruntime

TOLERANCE, INT8_TOLERANCE = 1e-4, 2e-2
SHAPES = ((1, 1), (1, 7), (5, 2), (5, 7), (5, 33))
STEPS = 4


def session(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def run(graph, inputs):
    found = graph.run(None, {node.name: inputs[node.name] for node in graph.get_inputs()})
    return dict(zip([node.name for node in graph.get_outputs()], found, strict=True))


def cases(graph, vocabulary):
    """Inputs of every shape, with full rows and with short ones."""
    rng, nodes = np.random.default_rng(0), {node.name: node for node in graph.get_inputs()}
    for batch, time in SHAPES:
        for short in (False, True):
            inputs = {}
            for name in nodes:
                if name.endswith("_ids"):
                    lengths = rng.integers(1, time + 1, batch) if short else np.full(batch, time)
                    inside = np.arange(time) < lengths[:, None]
                    inputs[name] = np.where(inside, rng.integers(4, vocabulary, (batch, time)), 0).astype("int32")
                    inputs[name.replace("token_ids", "ids").replace("ids", "lengths")] = lengths.astype("int32")
            inputs["lengths"] = inputs.get("token_lengths", inputs.get("lengths"))
            if "uniforms" in nodes:
                inputs["uniforms"] = rng.random((batch, 1, nodes["uniforms"].shape[2])).astype("float32")
                inputs["temperature"], inputs["top_p"] = np.ones(batch, "float32"), np.full(batch, 0.9, "float32")
                inputs["top_k"] = np.full(batch, 3, "int32")
            yield inputs


def drive(encoder, step, inputs, vocabulary):
    """Logits of some steps behind the encoder."""
    known, rng, logits = run(encoder, inputs), np.random.default_rng(1), []
    tokens = known.pop("first_ids")
    for _ in range(STEPS):
        found = run(step, known | {"token_ids": tokens})
        logits.append(found.pop("logits"))
        known |= {name.removeprefix("next_"): value for name, value in found.items()}
        tokens = rng.integers(4, vocabulary, tokens.shape).astype("int32")
    return {"logits": np.stack(logits)}


def answers(directory):
    """`{graph: [outputs by name, or what went wrong, of each case]}`."""
    manifest = json.loads((directory / "manifest.json").read_text(encoding="utf-8"))
    vocabulary, found = min(manifest["vocabulary"].values()), {}
    for path in sorted(directory.glob("*.onnx")):
        try:
            if path.name == "step.onnx":
                encoder, step = session(directory / "encoder.onnx"), session(path)
                found[path.name] = [drive(encoder, step, each, vocabulary) for each in cases(encoder, vocabulary)]
            else:
                graph = session(path)
                found[path.name] = [run(graph, each) for each in cases(graph, vocabulary)]
        except Exception as error:  # of any kind: it is what is asked for
            found[path.name] = f"{type(error).__name__}: {error}"[:300]
    return found


def wrong(expected, received, tolerance):
    """None, or how a graph's answers differ."""
    if isinstance(received, str) or isinstance(expected, str):
        return str(received)
    largest = 0.0
    for one, other in zip(expected, received, strict=True):
        for name in one:
            if one[name].shape != other[name].shape:
                return f"{name}: another shape"
            difference = np.abs(one[name].astype("float64") - other[name].astype("float64"))
            largest = max(largest, float(difference.max(initial=0.0)))
    return f"differs by {largest:.3g}" if largest > tolerance else None


def environment(home, version):
    """The Python of a virtual environment with this version of ONNX Runtime."""
    folder = Path(home) / f"onnxruntime-{version}"
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", f"onnxruntime=={version}", "numpy"], check=True)
    return python


def main(args):
    expected = {str(directory): answers(directory) for directory in args.artefacts}
    rows = []
    for version in args.versions:
        command = [environment(args.home, version), __file__, *args.artefacts, "--answer"]
        received = pickle.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
        faults = {
            f"{Path(directory).parent.name}/{name}": fault
            for directory, graphs in expected.items()
            for name in graphs
            if (
                fault := wrong(graphs[name], received[directory][name], INT8_TOLERANCE if "int8" in name else TOLERANCE)
            )
        }
        rows.append({"onnxruntime": version, "graphs": sum(map(len, expected.values())), "wrong": len(faults)})
        rows[-1]["faults"] = faults
        print(f"{version}: {len(faults)} of {rows[-1]['graphs']} graphs are wrong", *faults.items(), sep="\n  ")
    from timing import write

    write("onnxruntime_versions", rows, tolerance=TOLERANCE, peer=onnxruntime.__version__)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("artefacts", nargs="+", type=Path)
    parser.add_argument("--versions", nargs="+", default=["1.20.1", "1.21.1", "1.22.1", "1.23.2", "1.24.4", "1.26.0"])
    parser.add_argument("--home", default="build/onnxruntime")
    parser.add_argument("--answer", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.answer:
        sys.stdout.buffer.write(pickle.dumps({str(directory): answers(directory) for directory in given.artefacts}))
    else:
        main(given)
