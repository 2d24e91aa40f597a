"""What TensorFlow Serving needs: its configuration (models, versions, batches, metrics), and requests for warming up.

The fields are those of `model_server_config.proto`, `session_bundle_config.proto` and `monitoring_config.proto` of
TensorFlow Serving, version 2.20. It reads `models.config` again while it runs.

The requests it sends itself when it loads a version, so that no user waits for its first run. They lie in
`assets.extra/tf_serving_warmup_requests` of a version folder: one request for each signature of the SavedModel and
each size of a batch, as records of `PredictionLog`, which TensorFlow Serving defines. The texts are the examples of the
manifest.
"""

import tempfile
from pathlib import Path

import numpy as np

from serving.deploy import files
from serving.lazy import later
from serving.runtime.artefact import SAVED_MODEL, damaged_error, has_saved_model

protobuf = later("google.protobuf.message")
tensorflow = later("tensorflow")
saved_model_pb2 = later("tensorflow.core.protobuf.saved_model_pb2")
prediction_log_pb2 = later("tensorflow_serving.apis.prediction_log_pb2")

MODELS, BATCHING, MONITORING, START = "models.config", "batching.config", "monitoring.config", "start.sh"
OF_MODEL = "batching_params.pbtxt"  # in a version folder: read with --enable_per_model_batching_parameters
METRICS = "/monitoring/prometheus/metrics"
POLL = 15  # seconds between two looks at models.config
WARMUP = "assets.extra/tf_serving_warmup_requests"
TIME = 8  # tokens of an example of ids
WORD = 4  # the first id that is no special one


def render(plan):
    """`{file: text}` of a `Plan`.

    Raises:
        ValueError: a version has no SavedModel.
    """
    for model, version, manifest in plan.check_versions():
        if not has_saved_model(manifest):
            folder = model.folder(version)
            raise ValueError(
                f"TensorFlow Serving cannot load {folder}: it has no SavedModel. "
                f"`seqzoo export {folder} --out DIR` makes it."
            )
    return {
        MODELS: files.heading() + models_config(plan),
        BATCHING: files.heading() + batching(plan.options),
        MONITORING: files.heading() + prototext({"prometheus_config": {"enable": True, "path": METRICS}}),
        START: "#!/bin/sh\n" + files.heading() + start(),
    }


def models_config(plan):
    """The text of a `ModelServerConfig` of a `Plan`."""
    place = plan.options.models
    configs = [
        {
            "name": name,
            "base_path": f"{place.rstrip('/')}/{name}" if place else str(model.home),
            "model_platform": "tensorflow",
            "model_version_policy": {"specific": {"versions": labels.versions}},
            "version_labels": [{"key": label, "value": version} for label, version in labels.by_name.items()],
        }
        for name, (model, labels) in plan.models.items()
    ]
    return prototext({"model_config_list": {"config": configs}})


def batching(options, threads=True):
    """The text of `BatchingParameters`. A version folder has it without threads: these are shared by all models."""
    shared = {"num_batch_threads": {"value": options.threads}} if threads else {}
    return prototext(
        {
            "max_batch_size": {"value": options.max_batch},
            "batch_timeout_micros": {"value": round(1000 * options.batch_delay_ms)},
            "max_enqueued_batches": {"value": 16 * options.threads},
            **shared,
            "allowed_batch_sizes": options.batch_sizes,
            "pad_variable_length_inputs": True,
        }
    )


def flags(folder):
    """The options with which the server reads these files from `folder`.

    A label may only be given to a version that is loaded, or that gets it for the first time:
    `--allow_version_labels_for_unavailable_models` lets the server start with labels.
    """
    return [
        "--port=8500",
        "--rest_api_port=8501",
        f"--model_config_file={folder}/{MODELS}",
        f"--model_config_file_poll_wait_seconds={POLL}",
        "--allow_version_labels_for_unavailable_models=true",
        "--enable_model_warmup=true",
        "--enable_batching=true",
        f"--batching_parameters_file={folder}/{BATCHING}",
        f"--monitoring_config_file={folder}/{MONITORING}",
        "--enable_grpc_healthcheck_service=true",
    ]


def start():
    """A shell script that starts the server with these files, wherever their folder lies."""
    lines = " \\\n  ".join(f'"{each}"' for each in flags("$here"))
    return f'here=$(cd "$(dirname "$0")" && pwd)\nexec tensorflow_model_server \\\n  {lines} "$@"\n'


def prototext(message, indent=0):
    """The text of a message.

    Args:
        message: `{field: value}`. A value is a dict (a message), a list (a repeated field), a string, a bool or a
            number.
        indent: the number of spaces before each line.
    """
    return "".join(_field(name, value, indent) for name, value in message.items())


def _field(name, value, indent):
    space = " " * indent
    if isinstance(value, list):
        return "".join(_field(name, each, indent) for each in value)
    if isinstance(value, dict):
        return f"{space}{name} {{\n{prototext(value, indent + 2)}{space}}}\n"
    if isinstance(value, bool):
        value = "true" if value else "false"
    elif isinstance(value, str):
        escaped = "".join(  # every byte that is not printable ASCII as an octal escape
            {'"': '\\"', "\\": "\\\\"}.get(chr(byte)) or (chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}")
            for byte in value.encode()
        )
        value = f'"{escaped}"'
    return f"{space}{name}: {value}\n"


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
        path, batches = model.folder(version) / WARMUP, model.folder(version) / OF_MODEL
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
    except (protobuf.DecodeError, IndexError) as error:
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
