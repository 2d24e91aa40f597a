"""Which graphs of artefacts OpenVINO compiles, and whether it answers as ONNX Runtime does, to single rows and batches.

    pip install openvino
    python benchmarks/openvino_graphs.py ARTEFACT...

asks every `*.onnx`, `step.onnx` behind `encoder.onnx`, on the CPU in float32, and writes
benchmarks/results/openvino_graphs.json. A graph is wrong where an output differs by more than 1e-4 of the largest
value, of an int8 graph by more than 2e-2. docs/artefacts.md says what was learnt.
"""

import argparse
import json
from pathlib import Path

import numpy as np
import onnxruntime
import openvino
from onnxruntime_versions import INT8_TOLERANCE, SHAPES, TOLERANCE, cases, run, session

RESULTS = Path(__file__).parent / "results" / "openvino_graphs.json"
WIDTH = 240  # characters of an error that are kept


class Compiled:
    """A graph in OpenVINO, asked as a session of ONNX Runtime is."""

    def __init__(self, path):
        core = openvino.Core()
        settings = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1}
        self.model = core.compile_model(core.read_model(path), "CPU", settings)

    def __call__(self, inputs):
        found = self.model({name: inputs[name] for port in self.model.inputs for name in port.names & inputs.keys()})
        return {next(iter(port.names)): value for port, value in found.items()}


def largest(expected, found):
    """The largest difference of two answers, in proportion to the largest value; None where shapes differ."""
    worst = 0.0
    for name, value in expected.items():
        other = found[name]
        if other.shape != value.shape:
            return None
        if value.size:
            scale = max(1.0, float(np.abs(value.astype("float64")).max()))
            worst = max(worst, float(np.abs(value.astype("float64") - other.astype("float64")).max()) / scale)
    return worst


def verdict(path, vocabulary, encoder=None):
    """("right" | "wrong" | "refused", why) of a graph."""
    reference = session(path)
    try:
        graph = Compiled(path)
    except RuntimeError as error:
        return "refused", [" ".join(str(error).split())[-WIDTH:]]
    faults = []
    for number, inputs in enumerate(cases(encoder or reference, vocabulary)):
        if encoder is not None:
            known = run(encoder, inputs)
            inputs = known | {"token_ids": known["first_ids"]}
        where = f"{SHAPES[number // 2]}{', short rows' if number % 2 else ''}"
        try:
            difference = largest(run(reference, inputs), graph(inputs))
        except RuntimeError as error:
            faults.append(f"{where}: {' '.join(str(error).split())[-WIDTH:]}")
            continue
        allowed = INT8_TOLERANCE if ".int8." in path.name else TOLERANCE
        if difference is None or not difference <= allowed:
            faults.append(f"{where}: " + ("another shape" if difference is None else f"differs by {difference:.2g}"))
    return ("wrong", faults) if faults else ("right", [])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("artefacts", nargs="+", type=Path)
    args = parser.parse_args()
    rows = {}
    for folder in args.artefacts:
        manifest = json.loads((folder / "manifest.json").read_text())
        vocabulary = min(manifest["vocabulary"].values())
        for path in sorted(folder.glob("*.onnx")):
            encoder = session(folder / "encoder.onnx") if path.name == "step.onnx" else None
            state, faults = verdict(path, vocabulary, encoder)
            rows[f"{manifest['name']}/{path.name}"] = {"answers": state, "faults": faults}
            print(f"{manifest['name']}/{path.name}: {state} {faults[:2] if faults else ''}", flush=True)
    versions = {"openvino": openvino.__version__, "onnxruntime": onnxruntime.__version__}
    RESULTS.write_text(json.dumps({"versions": versions, "graphs": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
