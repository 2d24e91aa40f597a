"""The ONNX graphs: one for each signature that has a graph, in float32 and in int8, for ONNX Runtime."""

import dataclasses
import shutil

import numpy as np

from serving.export.forms.base import Form
from serving.export.sizes import WEIGHTS
from serving.lazy import later
from serving.runtime.manifest_format import FORMAT, int8_name, weight_files
from serving.runtime.sessions import OLDEST, open_graph, version_numbers

ranging = later("serving.export.onnx.ranges")
convert = later("serving.export.onnx.convert")
graphs_of = later("serving.export.onnx.graphs")
storing = later("serving.export.storage")
onnx = later("onnx")
quantizing = later("serving.export.onnx.quantize")
weighing = later("serving.export.onnx.weights")

TYPES = {"tensor(int32)": "int32", "tensor(float)": "float32", "tensor(bool)": "bool"}
# Difference of two numbers of int8 graphs, relative for those above 1. Their activations are whole numbers: where
# another processor, or a graph whose sums have another order, turns the last bit of a float32 sum, one of them may
# become its neighbour, and a score moves by a step of the quantisation (up to 0.002 in the graph of dates).
NEAR = 1e-2


class Onnx(Form):
    """The graphs of the kind's functions. The manifest names them in `graphs`, and in `onnx` what each needs to run."""

    name, title = "onnx", "ONNX"
    order = 2
    packages = ("onnx", "onnxruntime", "tf2onnx")

    def __init__(self, directory, manifest):
        super().__init__(directory, manifest)
        sessions = {file: open_graph(directory / file) for file in set(manifest["graphs"].values())}
        self._sessions = {name: sessions[file] for name, file in manifest["graphs"].items()}

    @classmethod
    def write(cls, kind, tokenizers, directory, log):
        calibration = ranging.Calibration(kind, tokenizers, log)
        files = {name: weighing.WeightsFile(directory / file) for name, file in WEIGHTS.items() if kind.large}
        for name, function in kind.graphs.items():
            log(f"writing {name}")
            weights = weighing.Beside() if files else weighing.INSIDE
            graph = convert.convert(function.function, function.signature, weights=weights)
            _write_graph(kind, graph, directory / name, weights, files.get("float32"))
            if kind.settings.int8 and function.int8:
                calibration.complete(function.name, graph, weights)
                quantized = quantizing.quantize(graph, calibration.ranges, weights)
                _write_graph(kind, quantized, directory / int8_name(name), weights, files.get("int8"))
        kind.settings = dataclasses.replace(kind.settings, ranges=calibration.ranges)

    @staticmethod
    def files(names):
        return sorted(name for name in names if name.endswith(".onnx") or name in WEIGHTS.values())

    def signatures(self):
        tables = {}
        for name, session in self._sessions.items():
            inputs = [*session.get_inputs(), *session.get_overridable_initializers()]
            sides = {"inputs": inputs, "outputs": session.get_outputs()}
            tables[name] = {
                side: [(node.name, TYPES.get(node.type), list(node.shape)) for node in nodes]
                for side, nodes in sides.items()
            }
        return tables

    def answer(self, name, inputs):
        return _run(self._sessions[name], inputs)

    @classmethod
    def facts(cls, kind, directory):
        graphs = {path.name: onnx.load(path, load_external_data=False) for path in sorted(directory.glob("*.onnx"))}
        needs = {name: graphs_of.requirements(graph) for name, graph in graphs.items()}
        return {
            "format": FORMAT if any("weights" in each for each in needs.values()) else FORMAT - 1,
            "graphs": {name: function.graph for name, function in kind.functions.items() if function.graph},
            "onnx": needs,
        }

    @classmethod
    def put_published(cls, kind, tokenizers, directory, target, manifest):
        """The int8 graphs of both are asked, and then the published graphs are copied over those that were made.

        What was made may have other names of nodes inside, and so other bytes.
        """
        files = {name: int8_name(graph) for name, graph in manifest["graphs"].items()}
        files = {name: file for name, file in files.items() if file in manifest["files"]}
        pairs = {name: [open_graph(each / file) for each in (directory, target)] for name, file in files.items()}
        same = {file: [] for file in files.values()}
        for name, inputs in kind.cases([tokenizer.vocab_size for tokenizer in tokenizers]):
            if name in pairs:
                one, other = (rows_of(list(_run(session, inputs).values())) for session in pairs[name])
                same[files[name]] += [all(map(is_near, *rows)) for rows in zip(one, other, strict=True)]
        for name in sorted(name for name in manifest["files"] if name.endswith(".onnx")):
            _copy_graph(name, directory, target)
        return {file: (sum(each), len(each)) for file, each in same.items()}

    @classmethod
    def published_files(cls, manifest, graphs):
        return [*graphs, *(file for graph in graphs for file in weight_files(manifest, graph))]

    @classmethod
    def holds(cls, signature, manifest):
        return signature in manifest["graphs"]

    @classmethod
    def find_requirements(cls, manifest):
        versions = [OLDEST, *(graph["onnxruntime"] for graph in manifest["onnx"].values())]
        return {"onnxruntime": max(versions, key=version_numbers)}


def _run(session, inputs):
    """The outputs of a session by name, of those inputs that it takes."""
    nodes = [*session.get_inputs(), *session.get_overridable_initializers()]
    feeds = {node.name: np.asarray(inputs[node.name]) for node in nodes if node.name in inputs}
    return dict(zip([node.name for node in session.get_outputs()], session.run(None, feeds), strict=True))


def _write_graph(kind, graph, path, weights, file):
    """Write a graph; `file` is that of the weights, or None where they are in the graph."""
    storage = kind.settings.storage
    graph = graphs_of.compact(graph if storage == "float32" else storing.narrow(graph, storage, weights))
    convert.write(graph if file is None else file.refer(graph, weights), path)


def _copy_graph(name, directory, target):
    """Copy a graph over the one that was made again; its weights get another name, since other graphs read the made."""
    graph = onnx.load(directory / name, load_external_data=False)
    entries = [entry for tensor in graph.graph.initializer for entry in tensor.external_data]
    files = [entry for entry in entries if entry.key == "location"]
    for own in {entry.value for entry in files}:
        shutil.copyfile(directory / own, target / f"published.{own}")
    for entry in files:
        entry.value = f"published.{entry.value}"
    (target / name).write_bytes(graph.SerializeToString())


def rows_of(outputs):
    """For each row of a batch what all outputs have of it; all of them together where they have no rows in common."""
    counts = {each.shape[:1] for each in outputs}
    return list(zip(*outputs, strict=True)) if len(counts) == 1 and () not in counts else [outputs]


def is_near(one, other):
    """Whether two outputs of an int8 graph are the same, numbers up to `NEAR`."""
    if one.ndim != other.ndim or one.dtype != other.dtype:
        return False
    if one.shape != other.shape:  # a batch is as long as its longest answer, which may be another row's
        shape = np.maximum(one.shape, other.shape)
        one, other = (np.pad(each, [(0, n) for n in shape - each.shape]) for each in (one, other))
    if one.dtype.kind != "f":
        return np.array_equal(one, other)
    return bool((np.abs(one - other) <= NEAR * np.maximum(1, np.abs(one))).all())


FORM = Onnx
