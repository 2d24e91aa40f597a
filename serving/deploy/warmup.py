"""Requests that TensorFlow Serving sends itself when it loads a version, so that no user waits for its first run.

They lie in `assets.extra/tf_serving_warmup_requests` of a version folder: one request for each signature of the
SavedModel and each size of a batch, as records of `PredictionLog`, which TensorFlow Serving defines. The texts are the
examples of the manifest.
"""

import tempfile
from pathlib import Path

import numpy as np

from serving.deploy import files
from serving.deploy.tf_serving import OF_MODEL, batching
from serving.lazy import later
from serving.runtime.artefact import SAVED_MODEL, damaged_error

message = later("google.protobuf.message")
tensorflow = later("tensorflow")
saved_model_pb2 = later("tensorflow.core.protobuf.saved_model_pb2")
prediction_log_pb2 = later("tensorflow_serving.apis.prediction_log_pb2")

FILE = "assets.extra/tf_serving_warmup_requests"
TIME = 8  # tokens of an example of ids
WORD = 4  # the first id that is no special one


def write_warmup(plan, log=lambda line: None):
    """Write the warm-up requests and the batching parameters into the folders of the versions that are served.

    Requests of the same sizes of batches stay, so that moving a label takes no time. The batching parameters beside
    them say the sizes, whichever deployment wrote them; they are gone as long as the requests are written.

    Args:
        plan: the `Plan`.
        log: a function that is called with a line about each file.
    """
    parameters = files.heading() + batching(plan.options, threads=False)
    for model, version, manifest in plan.check_versions():
        path, batches = model.folder(version) / FILE, model.folder(version) / OF_MODEL
        if not (
            path.is_file() and batches.is_file() and _sizes(batches.read_text("utf-8", "replace")) == _sizes(parameters)
        ):
            batches.unlink(missing_ok=True)
            files.write(path, records(model.folder(version), manifest, plan.options.batch_sizes))
            log(f"{path}")
        files.write(batches, parameters)


def _sizes(parameters):
    return [line for line in parameters.splitlines() if line.startswith("allowed_batch_sizes:")]


def records(folder, manifest, sizes):
    """The bytes of a file of warm-up requests.

    Args:
        folder: a version folder with a SavedModel.
        manifest: its manifest.
        sizes: the sizes of the batches.

    Raises:
        DamagedError: the SavedModel cannot be read.
    """
    path = Path(folder) / SAVED_MODEL
    try:
        signatures = saved_model_pb2.SavedModel.FromString(path.read_bytes()).meta_graphs[0].signature_def
    except (message.DecodeError, IndexError) as error:
        raise damaged_error(path, error) from error
    with tempfile.TemporaryDirectory() as work:
        path = Path(work) / "records"
        with tensorflow.io.TFRecordWriter(str(path)) as writer:
            for table in manifest["signatures"]:
                for size in sizes if table["name"] in signatures else ():
                    request = _request(manifest, table, size)
                    writer.write(request.SerializeToString(deterministic=True))
        return path.read_bytes()


def _request(manifest, table, size):
    """The `PredictionLog` with the request of one signature and size."""
    log = prediction_log_pb2.PredictionLog()
    request = log.predict_log.request
    request.model_spec.name, request.model_spec.signature_name = manifest["name"], table["name"]
    for name, value in inputs(manifest, table, size).items():
        request.inputs[name].CopyFrom(tensorflow.make_tensor_proto(value))
    return log


def inputs(manifest, table, size):
    """`{name: array}` of a request with `size` rows that the signature answers.

    Args:
        manifest: of the artefact; its texts are asked.
        table: a signature, as the manifest has it.
        size: the number of rows.
    """
    time = min(TIME, manifest["max_input"])
    strings = [spec["name"] for spec in table["inputs"] if spec["dtype"] == "string"]
    rows = [text.split("\t") for text in manifest["texts"] if len(text.split("\t")) >= len(strings)] or [["a"] * 2]
    arrays = {name: np.array([rows[row % len(rows)][side] for row in range(size)]) for side, name in enumerate(strings)}
    for spec in table["inputs"]:
        if spec["name"] in arrays or "default" in spec:
            continue
        shape = [
            size if axis == "batch" or str(axis).endswith("_rows") else axis if type(axis) is int else time
            for axis in spec["shape"]
        ]
        if spec["dtype"].startswith("float"):
            value = 0.5
        elif spec.get("maximum") == "time":
            value = time
        else:
            value = max(spec.get("minimum", 1), min(WORD, spec.get("maximum", 1)))
        arrays[spec["name"]] = np.full(shape, value, spec["dtype"])
    return arrays
