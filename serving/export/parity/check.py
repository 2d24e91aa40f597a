"""Compares the exported forms with the expected results: `python -m serving.export.parity.check REPORT`.

The process imports TensorFlow, its text operations and ONNX Runtime, but not the zoo, so it proves that the artefact
does not need the zoo. It may start before there is an artefact: two lines on its standard input, each a JSON string,
name the directory of the artefact, which it then opens, and later the file of the expected results.

The check does not depend on the kind of model: the manifest lists the signatures, and the expectation lists their
inputs and outputs.
"""

import json
import sys
from dataclasses import dataclass
from pathlib import Path

if __name__ == "__main__":
    # TensorFlow imports these where they are installed, which takes a while, and nothing here needs them.
    sys.modules["jax"] = sys.modules["matplotlib"] = None

import numpy as np
import onnxruntime
import tensorflow as tf
import tensorflow_text  # noqa: F401  registers the tokenizers' operations

from serving.runtime.artefact import SAVED_MODEL, read_manifest
from serving.runtime.sessions import open_graph

TOLERANCE = 1e-4
# Where `serving.export.parity.sensitivity` was measured, an output may differ by this many times what the Keras model
# itself differs by when its weights are rounded otherwise, if that is more than the tolerance, and LIMIT at most.
TIMES = 4
LIMIT = 1e-2
OTHERWISE = "otherwise.npz"  # beside the report: what is not as expected, see `Report`
FORBIDDEN_OPS = {"PyFunc", "PyFuncStateless", "EagerPyFunc"}
ONNX_TYPES = {"tensor(int32)": "int32", "tensor(float)": "float32", "tensor(bool)": "bool"}


class Report:
    """Collects the largest difference of each quantity, and a message about each failure.

    `otherwise` has the tokens, labels and texts of which some are not as expected, `{number/name/engine/output:
    array}`; `serving.export.parity.ties` finds out where rounding decides between the two.
    """

    def __init__(self):
        self.largest, self.failures, self.only_numbers = {}, [], True
        self.tolerance, self.otherwise = TOLERANCE, {}

    def compare(self, what, where, expected, received, spread=0.0, case=""):
        """Check that numbers are close and that all else is equal. The tolerance is absolute for numbers up to 1 and
        relative for larger ones, such as the score of 60 tokens. `case` is the key in `otherwise`."""
        received = np.char.decode(received.astype("S"), "utf-8") if received.dtype == object else received
        if expected.shape != received.shape:
            return self.same(f"{what} in {where}", expected, received)
        if expected.dtype.kind != "f":
            return self._equal(what, where, expected, received, case)
        differences = np.abs(expected.astype("float64") - received.astype("float64"))
        largest = float(differences.max(initial=0.0))
        self.largest[what] = max(self.largest.get(what, 0.0), largest)
        allowed = max(TOLERANCE, min(TIMES * float(spread), LIMIT))
        self.tolerance = max(self.tolerance, allowed)
        if not (differences <= allowed * np.maximum(1, np.abs(expected))).all():
            self.failures.append(f"{what} in {where}: differs by {largest:.3g}, allowed {allowed:.3g}.")

    def same(self, what, expected, received):
        if not np.array_equal(expected, received):
            self.fail(f"{what}: expected {_short(expected)}, received {_short(received)}.")

    def _equal(self, what, where, expected, received, case):
        unlike = np.argwhere(expected != received)
        if unlike.size:
            first = tuple(unlike[0].tolist())
            rows = f"{len(np.unique(unlike[:, 0]))} of {len(expected)} rows differ, the first "
            self.fail(
                f"{what} in {where}: {rows if expected.ndim else ''}at {place_of(first)}: "
                f"expected {expected[first].item()!r}, received {received[first].item()!r}."
            )
            self.otherwise[case] = received

    def fail(self, message):
        """Note a failure that no tolerance could excuse."""
        self.only_numbers = False
        self.failures.append(message)


def place_of(index):
    """What a message calls a place in an array of `(rows,)`, `(rows, places)` or `(rows, beams, places)`."""
    names = {1: ("row",), 2: ("row", "place"), 3: ("row", "beam", "place")}.get(len(index), ())
    return ", ".join(f"{name} {number}" for name, number in zip(names, index, strict=False)) or str(index)


def _short(value):
    value = np.asarray(value)
    text = repr(value.tolist())
    return f"{value.shape} {text if len(text) < 200 else text[:200] + '...'}"


@dataclass(frozen=True)
class Opened:
    """An artefact: its manifest, the signatures of its SavedModel, and a session for each of its graphs."""

    directory: Path
    manifest: dict
    loaded: dict
    sessions: dict

    @classmethod
    def at(cls, directory):
        manifest = read_manifest(directory)
        loaded = tf.saved_model.load(str(directory)).signatures
        sessions = {file: open_graph(directory / file) for file in set(manifest["graphs"].values())}
        return cls(directory, manifest, loaded, {name: sessions[file] for name, file in manifest["graphs"].items()})


def check(opened, arrays):
    """The `Report` on an artefact, compared with `serving.export.parity.reference.expectation`."""
    report = Report()
    _check_signatures(report, opened.manifest, opened.loaded, opened.sessions)
    _check_operations(report, opened.directory)
    for number, name, inputs, outputs, spread, left_out in cases(arrays):
        where = ", ".join(f"{key} {list(value.shape)}" for key, value in inputs.items())
        for engine, answer in _answers(name, inputs, opened.loaded, opened.sessions):
            report.same(f"outputs of {engine} {name}", sorted(outputs), sorted(answer))
            for key in outputs.keys() & answer.keys():
                what, case = f"{engine} {name} {key}", f"{number}/{name}/{engine}/{key}"
                pair = [value[key] for value in (outputs, answer)]
                if len(left_out):
                    pair = [np.delete(value, left_out, axis=0) for value in pair]
                report.compare(what, where, *pair, spread.get(key, 0.0), case)
    return report


def cases(arrays):
    """`(number, name, inputs, outputs, spread, rows left out)`, see `reference`, `sensitivity` and `ties`."""
    found = {}
    for path, value in arrays.items():
        number, name, side, key = path.split("/")
        found.setdefault((number, name), {"in": {}, "out": {}, "spread": {}, "left": {}})[side][key] = value
    for (number, name), sides in found.items():
        yield number, name, sides["in"], sides["out"], sides["spread"], sides["left"].get("out", [])


def _answers(name, inputs, loaded, sessions):
    """`(engine, outputs)` of every engine that has the signature."""
    if name == "drive":
        yield "ONNX", _drive(sessions["encode"], sessions["step"], **inputs)
    if name in loaded:
        texts = {key: value.astype(object) if value.dtype.kind == "U" else value for key, value in inputs.items()}
        tensors = {key: tf.constant(value) for key, value in texts.items()}
        yield "SavedModel", {key: value.numpy() for key, value in loaded[name](**tensors).items()}
    if name in sessions:
        yield "ONNX", _run(sessions[name], inputs)


def _run(session, inputs):
    nodes = [*session.get_inputs(), *session.get_overridable_initializers()]
    fed = {node.name: np.asarray(inputs[node.name]) for node in nodes if node.name in inputs}
    return dict(zip([node.name for node in session.get_outputs()], session.run(None, fed), strict=True))


def _drive(encoder, step, token_ids, lengths, target_ids):
    """The logits of the encoder, run once, and the step, run per token; they must equal those of a full pass."""
    known, logits = _run(encoder, {"token_ids": token_ids, "lengths": lengths}), []
    for token in [known.pop("first_ids"), *target_ids.T[:, :, None]]:
        found = _run(step, known | {"token_ids": token})
        logits.append(found.pop("logits")[:, 0])
        known |= {name.removeprefix("next_"): value for name, value in found.items()}
    return {"logits": np.stack(logits, axis=1)}


def _check_signatures(report, manifest, loaded, sessions):
    """Check that SavedModel and ONNX have the names, dtypes and axes of the signatures in the manifest."""
    for table in manifest["signatures"]:
        name = table["name"]
        inputs = {spec["name"]: spec["dtype"] for spec in table["inputs"] if "default" not in spec}
        outputs = {spec["name"]: spec["dtype"] for spec in table["outputs"]}
        if name in loaded:
            function = loaded[name]
            received = {spec.name: spec.dtype.name for spec in function.structured_input_signature[1].values()}
            report.same(f"inputs of {name} in SavedModel", sorted(inputs.items()), sorted(received.items()))
            received = {key: spec.dtype.name for key, spec in function.structured_outputs.items()}
            report.same(f"outputs of {name} in SavedModel", sorted(outputs.items()), sorted(received.items()))
        elif name not in sessions:
            report.fail(f"signature {name} is neither in the SavedModel nor in ONNX.")
        if name in sessions:
            session = sessions[name]
            taken = [*session.get_inputs(), *session.get_overridable_initializers()]
            for side, nodes in (("inputs", taken), ("outputs", session.get_outputs())):
                received = [(node.name, ONNX_TYPES.get(node.type), list(node.shape)) for node in nodes]
                expected = [(spec["name"], spec["dtype"], spec["shape"]) for spec in table[side]]
                what = f"{side} of {name} in {manifest['graphs'][name]}"
                report.same(what, sorted(map(str, expected)), sorted(map(str, received)))


def _check_operations(report, folder):
    from tensorflow.core.protobuf import saved_model_pb2

    proto = saved_model_pb2.SavedModel.FromString((folder / SAVED_MODEL).read_bytes())
    graph = proto.meta_graphs[0].graph_def
    nodes = [*graph.node, *(node for function in graph.library.function for node in function.node_def)]
    found = sorted({node.op for node in nodes} & FORBIDDEN_OPS)
    if found:
        report.fail(f"the SavedModel holds Python operations that no server can run: {found}.")


def main(path):
    told = map(json.loads, sys.stdin)
    try:
        opened = Opened.at(Path(next(told)))
        expected = next(told)
    except StopIteration:  # the process that started this one has ended, or has nothing to check
        return 1
    with np.load(expected) as arrays:
        report = check(opened, dict(arrays))
    if any(name.partition(".")[0] == "zoo" for name in sys.modules):
        report.fail("this process imported the zoo; the artefact must not need it.")
    result = {
        "passed": not report.failures,
        "max_abs_diff": max(report.largest.values(), default=0.0),
        "tolerance": report.tolerance,
        "largest": {name: report.largest[name] for name in sorted(report.largest)},
        "failures": report.failures[:50],
        "only_numbers": report.only_numbers,
        "versions": {"tensorflow": tf.__version__, "onnxruntime": onnxruntime.__version__},
    }
    if report.otherwise:
        np.savez(Path(path).with_name(OTHERWISE), **report.otherwise)
    Path(path).write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return 0 if result["passed"] else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
