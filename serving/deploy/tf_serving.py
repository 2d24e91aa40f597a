"""The configuration of TensorFlow Serving: which models and versions, how requests are batched, and its metrics.

The fields are those of `model_server_config.proto`, `session_bundle_config.proto` and `monitoring_config.proto` of
TensorFlow Serving, version 2.20. It reads `models.config` again while it runs.
"""

from serving.deploy.files import heading
from serving.runtime.artefact import has_saved_model

MODELS, BATCHING, MONITORING, START = "models.config", "batching.config", "monitoring.config", "start.sh"
OF_MODEL = "batching_params.pbtxt"  # in a version folder: read with --enable_per_model_batching_parameters
METRICS = "/monitoring/prometheus/metrics"
POLL = 15  # seconds between two looks at models.config


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
        MODELS: heading() + models_config(plan, plan.options.models),
        BATCHING: heading() + batching(plan.options),
        MONITORING: heading() + prototext({"prometheus_config": {"enable": True, "path": METRICS}}),
        START: "#!/bin/sh\n" + heading() + start(),
    }


def models_config(plan, place=""):
    """The text of a `ModelServerConfig`.

    Args:
        plan: the `Plan`.
        place: the folder in which the server sees the models; "" is where they are.
    """
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
