"""Reads the source with `ast` and finds what breaks the rules of the house."""

import ast
import functools
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted(
    path.relative_to(ROOT).as_posix()
    for package in ("zoo", "serving", "tools")
    for path in (ROOT / package).rglob("*.py")
)

EXPORTED = (
    "core",
    "gradients",
    "attention",
    "feedforward",
    "recurrent",
    "embeddings",
    "blocks",
    "depth",
    "models",
    "decoding",
)


@functools.cache
def read(path):
    return ast.parse((ROOT / path).read_text(encoding="utf-8"), filename=path)


def named_later(tree):
    """`{module: the attributes that are asked of it}` of what a tree names by `later`: imported at their first use."""
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and _name(node.value.func) == "later":
            names[node.targets[0].id] = node.value.args[0].value
    asked = {module: set() for module in names.values()}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in names:
            asked[names[node.value.id]].add(node.attr)
    return asked


# `python -m zoo.check` tells whether a layer has an ONNX form, if the rest of seqzoo is installed with its extras. The
# converter is a plug-in to it: named here and nowhere else, and imported at the moment of the question.
MAY_NAME_SERVING = ("zoo/check/onnx.py",)


def names_serving(tree):
    """Lines with a string that names a module of `serving`, for an import that no linter can see."""
    texts = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return [node.lineno for node in texts if re.fullmatch(r"serving(\.\w+)+", node.value)]


KINDS = {"generate", "continue", "classify", "compare", "tag", "embed", "rate"}


def kinds_named(tree):
    """Lines that compare the kind of an answer with a name, instead of asking the kind (`serving.kinds`)."""
    lines = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and "kind" in ast.unparse(node.left):
            texts = {
                each.value for side in node.comparators for each in ast.walk(side) if isinstance(each, ast.Constant)
            }
            lines += [node.lineno] if texts & KINDS else []
    return lines


UNMAPPED = {"bitwise_and", "expm1", "searchsorted", "slice_update"}
# Static caches are for XLA and JAX; tests/attention/test_cache.py says that they never reach an export.
MAY_UPDATE_SLICES = ("zoo/attention/cache.py",)
INTEGERS = {"int8", "int16", "int32", "int64", "uint8"}


def lost_in_export(tree, path=None):
    """(line, reason) for each call that tf2onnx drops, refuses or gets wrong."""
    found = []
    unmapped = UNMAPPED - {"slice_update"} if path in MAY_UPDATE_SLICES else UNMAPPED
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Attribute) and _name(node.func.value) in (
            "ops",
            "activations",
        ):
            name = node.func.attr
            if name in unmapped:
                found.append((node.lineno, f"ops.{name} has no ONNX form"))
            if name == "argmax" and not _is_integer_cast(node.args[0] if node.args else None):
                reason = "ops.argmax of floats: take it of ops.cast(x == ops.max(x), 'int32')"
                found.append((node.lineno, reason))
            if name == "gelu" and not _is_approximate(node, default=_name(node.func.value) == "ops"):
                found.append((node.lineno, "exact gelu: write 0.5 * x * (1 + ops.erf(x / sqrt(2)))"))
        for keyword in node.keywords:
            value = keyword.value
            if keyword.arg == "activation" and isinstance(value, ast.Constant) and value.value == "gelu":
                found.append((node.lineno, 'activation="gelu" is the exact gelu: pass a function'))
    return found


def _name(node):
    """`ops` of both `ops` and `keras.ops`."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", None)


def _is_integer_cast(node):
    if not (isinstance(node, ast.Call) and _name(node.func) == "cast"):
        return False
    values = [*node.args[1:], *(keyword.value for keyword in node.keywords)]
    return any(isinstance(value, ast.Constant) and value.value in INTEGERS for value in values)


def _is_approximate(node, default):
    values = [*node.args[1:], *(item.value for item in node.keywords if item.arg == "approximate")]
    return values[0].value is True if values and isinstance(values[0], ast.Constant) else default


# What is asked of things that are not ours: Python's, the operating system's and other libraries'. What a layer can do
# is asked of zoo.core.protocols.
MAY_ASK = {
    "serving/export/signatures.py": {"'name'"},
    "serving/export/onnx/convert.py": {"'_functions'", "'graph'", "'python_function'"},
    "serving/export/partial.py": {"'errno'"},
    "serving/runtime/artefact.py": {"'O_NONBLOCK'", "'strerror'"},
    "serving/runtime/sessions.py": {"'sched_getaffinity'"},
    "tools/run.py": {"'reconfigure'"},
    "zoo/check/of_keras.py": {"'_keras_mask'"},
    "zoo/core/protocols.py": {"'traits'"},
    "zoo/hub/base.py": {"'O_NONBLOCK'"},
    "zoo/models/shared.py": {"'built'", "'loss'"},
    "zoo/training/steps/needs.py": {"'eqns'", "'jaxpr'", "'name'", "'val'"},
}


def flags_asked(tree, path=None):
    """(line, name) for each `hasattr`, and each `getattr` with a name written out or with a default."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _name(node.func) in ("getattr", "hasattr"):
            name = node.args[1]
            if _name(node.func) == "hasattr" or len(node.args) > 2 or isinstance(name, ast.Constant):
                found.append((node.lineno, ast.unparse(name)))
    return [each for each in found if each[1] not in MAY_ASK.get(path, ())]
