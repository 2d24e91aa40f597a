"""A model repository of Triton for the graphs that take token ids, run by its ONNX Runtime backend.

Triton knows no labels: a request that names no version goes to the largest of those that are loaded. So
`NAME-SIGNATURE` loads the stable version alone, and a canary is a model of its own, `NAME-SIGNATURE-canary`. The fields
are those of `model_config.proto` of Triton.
"""

import glob
import shutil

from serving.deploy import files
from serving.deploy.prototext import Word, prototext
from serving.runtime.artefact import Artefact
from serving.runtime.manifest_format import weights_of

FOLDER = "repository"
TYPES = {"int32": "TYPE_INT32", "int64": "TYPE_INT64", "float32": "TYPE_FP32", "bool": "TYPE_BOOL"}


def render(plan):
    """`{file: text}` of a `Plan`."""
    found = {}
    for name, model, version, manifest in _models(plan):
        for table, _ in graphs(model.folder(version), manifest):
            text = config(_title(name, table), table, version, plan.options)
            found[f"{FOLDER}/{_title(name, table)}/config.pbtxt"] = files.heading("#") + prototext(text)
    return found


def prepare(plan, out):
    """Give each graph that is served its name in the repository, before a configuration names its version."""
    for name, model, version, manifest in _models(plan):
        for table, file in graphs(model.folder(version), manifest):
            place = out / FOLDER / _title(name, table) / str(version) / "model.onnx"
            files.link(model.folder(version) / file, place)
            for weights in weights_of(manifest, file):  # whose name stands in the graph
                files.link(model.folder(version) / weights, place.with_name(weights))


def finish(plan, rendered, out):
    """Remove the canaries that ended; `rendered` is what was written."""
    wanted = {name.split("/")[1] for name in rendered}
    for name, (_, labels) in plan.models.items():
        if labels.canary is None:
            for folder in (out / FOLDER).glob(f"{glob.escape(name)}-*-canary"):
                if folder.name not in wanted:
                    (folder / "config.pbtxt").unlink(missing_ok=True)
                    shutil.rmtree(folder)


def _models(plan):
    """`(name, Model, version, manifest)` of each model of the repository, without the names of signatures."""
    manifests = {(model.name, version): manifest for model, version, manifest in plan.loaded()}
    for name, (model, labels) in plan.models.items():
        for label, suffix in (("stable", ""), ("canary", "canary")):
            if label in labels.named:
                version = labels.named[label]
                yield (name, suffix), model, version, manifests[model.name, version]


def _title(name, table):
    return "-".join(part for part in (name[0], table["name"], name[1]) if part)


def graphs(folder, manifest):
    """`(signature, file)` of each graph that an artefact has, in the precision in which it runs by default."""
    artefact, seen = Artefact(folder), set()
    for table in manifest["signatures"]:
        graph = manifest["graphs"].get(table["name"])
        if graph is not None and (file := artefact.preferred(graph)) not in seen:
            seen.add(file)
            yield table, file


def config(title, table, version, options):
    """A `ModelConfig` of Triton, as a dict.

    Where every tensor has the batch as its first axis, Triton puts requests of equal shapes together; elsewhere the
    client's batch is run as it is.
    """
    batched = all(spec["shape"][:1] == ["batch"] for side in ("inputs", "outputs") for spec in table[side])
    more = {
        "dynamic_batching": {
            "preferred_batch_size": [size for size in options.batch_sizes if size > 1],
            "max_queue_delay_microseconds": round(1000 * options.batch_delay_ms),
        }
    }
    return {
        "name": title,
        "backend": "onnxruntime",
        "max_batch_size": options.max_batch if batched else 0,
        "input": [_tensor(spec, batched) for spec in table["inputs"] if "default" not in spec],
        "output": [_tensor(spec, batched) for spec in table["outputs"]],
        "version_policy": {"specific": {"versions": [version]}},
        "instance_group": [{"kind": Word("KIND_CPU"), "count": options.threads}],
        "parameters": [{"key": "intra_op_thread_count", "value": {"string_value": "1"}}],
        **(more if batched else {}),
    }


def _tensor(spec, batched):
    dims = [axis if type(axis) is int else -1 for axis in spec["shape"][1 if batched else 0 :]]
    found = {"name": spec["name"], "data_type": Word(TYPES[spec["dtype"]]), "dims": dims or [1]}
    return found if dims else found | {"reshape": {}}
