"""Which versions of TensorFlow Serving can load a SavedModel: those that know all of its operators and attributes.

`server_operators.json.gz` has the operators of TensorFlow and TensorFlow Text, from which each version of the server is
built; `benchmarks/serving_operators.py` writes it.
"""

import functools
import gzip
import json
from pathlib import Path

from serving.lazy import later
from serving.runtime.artefact import SAVED_MODEL
from serving.runtime.errors import UnsupportedError

saved_model_pb2 = later("tensorflow.core.protobuf.saved_model_pb2")

FILE = Path(__file__).with_name("server_operators.json.gz")
REQUIRED = "!"  # after an attribute without a default


@functools.cache
def _table():
    return json.loads(gzip.decompress(FILE.read_bytes()))


def versions():
    """The versions of TensorFlow Serving whose operators are known, such as "2.20", the oldest first."""
    return sorted(_table()["packages"], key=lambda version: tuple(map(int, version.split("."))))


def attributes(operator, version):
    """`{attribute: whether it has no default}` of an operator in a version, or None if it does not have it."""
    for names, releases in _table()["operators"].get(operator, {}).items():
        if version in releases:
            return {name.removesuffix(REQUIRED): name.endswith(REQUIRED) for name in names.split()}
    return None


def check_version(version):
    """Refuse a version that is not known.

    Raises:
        ValueError: the message lists those that are.
    """
    if version not in versions():
        raise ValueError(
            f"Unknown version of TensorFlow Serving: expected one of {', '.join(versions())}, received {version!r}."
        )


def missing(folder, version):
    """What a version of TensorFlow Serving lacks to load the SavedModel in `folder`, each in words, sorted.

    An attribute whose name begins with an underscore is a remark that every version ignores.
    """
    lacks = set()
    for operator, used in used_operators(folder):
        defined = attributes(operator, version)
        if defined is None:
            lacks.add(f"the operator {operator}")
            continue
        lacks |= {f"the attribute {name} of {operator}" for name in used - defined.keys()}
        needed = {name for name, required in defined.items() if required}
        lacks |= {f"{operator} without its attribute {name}" for name in needed - used}
    return sorted(lacks)


def used_operators(folder):
    """`{(operator, attributes)}` of the nodes of a SavedModel, those of its functions included."""
    proto = saved_model_pb2.SavedModel.FromString((Path(folder) / SAVED_MODEL).read_bytes())
    used = set()
    for graph in (meta.graph_def for meta in proto.meta_graphs):
        functions = {function.signature.name for function in graph.library.function}
        nodes = [*graph.node, *(node for function in graph.library.function for node in function.node_def)]
        for node in nodes:
            if node.op not in functions:
                used.add((node.op, frozenset(name for name in node.attr if not name.startswith("_"))))
    return used


def compare_servers(folder, target=None, log=lambda line: None):
    """Compare a SavedModel with the versions of TensorFlow Serving.

    Args:
        folder: of the SavedModel.
        target: the version that must load it, or None.
        log: a function that is called with a warning for each other version that cannot.

    Raises:
        UnsupportedError: the version that is wanted cannot load it.
    """
    for version in versions():
        lacks = missing(folder, version)
        if not lacks:
            continue
        what = ", ".join(lacks[:8]) + (f" and {len(lacks) - 8} more" if len(lacks) > 8 else "")
        if version == target:
            raise UnsupportedError(
                f"TensorFlow Serving {version} cannot load this model: it does not know {what}. Choose a newer "
                "--serving-version, or export with the TensorFlow of that version."
            )
        log(f"warning: TensorFlow Serving {version} cannot load this SavedModel: it does not know {what}")
