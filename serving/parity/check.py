"""The exported forms against the expectation: `python -m serving.parity.check DIR EXPECTED REPORT`, a fresh process.

It imports TensorFlow, its text operations and ONNX Runtime, and never the zoo: what it loads stands on its own.
"""

import json
import sys
from pathlib import Path

import numpy as np
import onnxruntime
import tensorflow as tf
import tensorflow_text  # noqa: F401  registers the tokenizers' operations

from serving.artefact import read_manifest

TOLERANCE = 1e-4
FORBIDDEN_OPS = {"PyFunc", "PyFuncStateless", "EagerPyFunc"}
ONNX_TYPES = {"tensor(int32)": "int32", "tensor(float)": "float32", "tensor(bool)": "bool"}


class Report:
    """Collects the largest difference of each quantity, and every failure in words."""

    def __init__(self):
        self.largest, self.failures = {}, []

    def close(self, what, expected, received):
        if expected.shape != received.shape:
            self.failures.append(f"{what}: expected shape {expected.shape}, received {received.shape}.")
            return
        difference = np.abs(expected.astype("float64") - received.astype("float64")).max(initial=0.0)
        quantity = what.split(" in ")[0]
        self.largest[quantity] = max(self.largest.get(quantity, 0.0), float(difference))
        if not difference <= TOLERANCE:
            self.failures.append(f"{what}: differs by {difference:.3g}, allowed {TOLERANCE}.")

    def same(self, what, expected, received):
        if not np.array_equal(expected, received):
            self.failures.append(f"{what}: expected {_short(expected)}, received {_short(received)}.")


def _short(value):
    text = repr(np.asarray(value).tolist())
    return text if len(text) < 200 else text[:200] + "..."


def check(directory, arrays):
    """The `Report` of the artefact at `directory` against `serving.parity.reference.expectation`."""
    directory, report = Path(directory), Report()
    manifest = read_manifest(directory)
    loaded = tf.saved_model.load(str(directory / "saved_model"))
    names = {*manifest["generation"].values(), "encoder.onnx", "step.onnx"}
    sessions = {name: _session(directory / name) for name in names}
    _check_signatures(report, manifest, loaded, sessions)
    _check_operations(report, directory)
    for case in _cases(arrays):
        _check_case(report, manifest, loaded, sessions, case)
    answers = loaded.signatures["serving_default"](text=tf.constant(arrays["text"].tolist()))
    received = [answer.decode() for answer in answers["output_text"].numpy()]
    report.same("SavedModel text", arrays["expected/text"].tolist(), received)
    return report


def _session(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def _cases(arrays):
    numbers = sorted({int(name.split("/")[0]) for name in arrays if name[0].isdigit()})
    for number in numbers:
        prefix = f"{number}/"
        yield {name[len(prefix) :]: arrays[name] for name in arrays if name.startswith(prefix)}


def _check_signatures(report, manifest, loaded, sessions):
    """Names, dtypes and axes of the manifest's table are those of SavedModel and ONNX."""
    generation = manifest["generation"]
    onnx = {"encode": "encoder.onnx", "step": "step.onnx", "greedy": generation["1"]}
    onnx["tokens"] = generation[str(manifest["default_beam"])]
    for table in manifest["signatures"]:
        name = table["name"]
        inputs = {spec["name"]: spec["dtype"] for spec in table["inputs"]}
        outputs = {spec["name"]: spec["dtype"] for spec in table["outputs"]}
        if name in loaded.signatures:
            function = loaded.signatures[name]
            received = {spec.name: spec.dtype.name for spec in function.structured_input_signature[1].values()}
            report.same(f"inputs of {name} in SavedModel", sorted(inputs.items()), sorted(received.items()))
            received = {key: spec.dtype.name for key, spec in function.structured_outputs.items()}
            report.same(f"outputs of {name} in SavedModel", sorted(outputs.items()), sorted(received.items()))
        elif name not in onnx:
            report.failures.append(f"signature {name} is neither in the SavedModel nor in ONNX.")
        if name in onnx:
            session = sessions[onnx[name]]
            for side, nodes in (("inputs", session.get_inputs()), ("outputs", session.get_outputs())):
                received = [(node.name, ONNX_TYPES.get(node.type), list(node.shape)) for node in nodes]
                expected = [(spec["name"], spec["dtype"], spec["shape"]) for spec in table[side]]
                report.same(f"{side} of {name} in {onnx[name]}", sorted(map(str, expected)), sorted(map(str, received)))


def _check_operations(report, directory):
    from tensorflow.core.protobuf import saved_model_pb2

    proto = saved_model_pb2.SavedModel.FromString((directory / "saved_model" / "saved_model.pb").read_bytes())
    graph = proto.meta_graphs[0].graph_def
    nodes = [*graph.node, *(node for function in graph.library.function for node in function.node_def)]
    found = sorted({node.op for node in nodes} & FORBIDDEN_OPS)
    if found:
        report.failures.append(f"the SavedModel holds Python operations that no server can run: {found}.")


def _check_case(report, manifest, loaded, sessions, case):
    source = {name: case[name] for name in ("token_ids", "lengths")}
    where = f"batch {len(source['lengths'])}, time {source['token_ids'].shape[1]}, lengths {source['lengths'].tolist()}"
    graphs = {"greedy": manifest["generation"]["1"], "tokens": manifest["generation"][str(manifest["default_beam"])]}
    tensors = {name: tf.constant(value) for name, value in source.items()}
    for name, graph in graphs.items():
        session = sessions[graph]
        answers = {
            "SavedModel": {key: v.numpy() for key, v in loaded.signatures[name](**tensors).items()},
            "ONNX": dict(zip([n.name for n in session.get_outputs()], session.run(None, source), strict=True)),
        }
        for engine, answer in answers.items():
            for key in ("output_ids", "output_lengths"):
                report.same(f"{engine} {name} {key} in {where}", case[f"expected/{name}/{key}"], answer[key])
            report.close(f"{engine} {name} scores in {where}", case[f"expected/{name}/scores"], answer["scores"])
    score = loaded.signatures["score"](
        source_ids=tensors["token_ids"],
        source_lengths=tensors["lengths"],
        target_ids=tf.constant(case["target_ids"]),
        target_lengths=tf.constant(case["target_lengths"]),
    )
    report.close(f"SavedModel log_probs in {where}", case["expected/log_probs"], score["log_probs"].numpy())
    _check_steps(report, sessions, case, source, where)


def _check_steps(report, sessions, case, source, where):
    """Encoder once, then one step per target token: the logits are those of the full forward pass."""
    encoder, step = sessions["encoder.onnx"], sessions["step.onnx"]
    names = [node.name for node in encoder.get_outputs()]
    known = dict(zip(names, encoder.run(None, source), strict=True))
    for name in names:
        report.close(f"ONNX {name} in {where}", case[f"expected/encode/{name}"], known[name])
    logits, outputs = [], [node.name for node in step.get_outputs()]
    beginning = np.full((len(source["lengths"]), 1), 2, "int32")
    for token in np.concatenate([beginning, case["target_ids"]], axis=1).T:
        fed = {node.name: known[node.name] for node in step.get_inputs() if node.name != "token_ids"}
        found = dict(zip(outputs, step.run(None, {**fed, "token_ids": token[:, None]}), strict=True))
        logits.append(found.pop("logits")[:, 0])
        known |= {name.removeprefix("next_"): value for name, value in found.items()}
    report.close(f"ONNX logits in {where}", case["expected/logits"], np.stack(logits, axis=1))


def main(directory, expected, path):
    with np.load(expected) as arrays:
        report = check(directory, dict(arrays))
    if any(name.partition(".")[0] == "zoo" for name in sys.modules):
        report.failures.append("this process imported the zoo; the artefact must stand without it.")
    result = {
        "passed": not report.failures,
        "max_abs_diff": max(report.largest.values(), default=0.0),
        "tolerance": TOLERANCE,
        "largest": {name: report.largest[name] for name in sorted(report.largest)},
        "failures": report.failures[:50],
        "versions": {"tensorflow": tf.__version__, "onnxruntime": onnxruntime.__version__},
    }
    Path(path).write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return 0 if result["passed"] else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
