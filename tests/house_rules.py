"""Reads the source with `ast` and finds what breaks the rules of the house."""

import ast
import functools
import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted(
    path.relative_to(ROOT).as_posix()
    for package in ("zoo", "serving", "tools")
    for path in (ROOT / package).rglob("*.py")
)

SLOTS = {"attention", "feedforward", "recurrent", "embeddings"}
MODELS = SLOTS | {"blocks", "depth", "decoding"}
TRAINING = MODELS | {"models", "text", "data"}
# What each room of zoo may import. All but the first may import `core`, which imports none of them.
ROOMS = {
    "core": set(),
    "gradients": set(),
    "attention": {"gradients"},
    "feedforward": {"gradients"},
    "embeddings": set(),
    "recurrent": {"attention", "gradients"},
    "blocks": SLOTS | {"gradients"},
    "depth": SLOTS | {"blocks", "gradients"},
    "decoding": set(),
    "text": set(),
    "data": {"text"},
    "scores": set(),
    "models": MODELS,
    "training": TRAINING | {"gradients"},
    "check": MODELS | {"models", "settings", "training"},
    "hub": set(),
    "settings": set(),
    "tasks": TRAINING | {"training", "scores", "settings"},
    "recipes": TRAINING | {"training", "scores", "settings", "tasks"},
    "runs": TRAINING | {"training", "scores", "settings", "tasks", "recipes"},
    "pretrained": {"hub", "models", "recipes", "settings", "tasks", "text", "training"},
    "reproduce": TRAINING | {"gradients", "training"},
}
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
MAY_IMPORT_TENSORFLOW = {
    "zoo/check/differences.py",
    "zoo/check/gradients.py",
    "zoo/check/in_training.py",
    "zoo/check/laws.py",
    "zoo/text/graph.py",
    "zoo/text/graph_byte_pairs.py",
    "zoo/text/graph_characters.py",
    "zoo/text/graph_wordpiece.py",
    "zoo/training/steps/tensorflow.py",
}
# `Runtime("dates")` has to ask where the files of that name are, and has to read tokenizers. `zoo.hub` and `zoo.text`
# need the standard library and small packages alone, and are imported inside functions.
LENT_TO_RUNTIME = {
    "serving/runtime/named.py": {"zoo.hub", "zoo.hub.is_path"},
    "serving/runtime/loaded.py": {"zoo.text.load_tokenizer"},
}
# The parity check opens a SavedModel in a process that must not import zoo.
MAY_IMPORT_TENSORFLOW_TEXT = ("zoo/text/", "serving/export/forms/saved_model.py")
# `serving/runtime` imports none inside its functions either.
WITHOUT_FRAMEWORK = (
    "serving/client/",
    "serving/corpus/",
    "serving/gallery/",
    "serving/runtime/",
    "serving/server/",
    "tools/__init__.py",
    "tools/__main__.py",
    "tools/answers.py",
    "tools/attention_map.py",
    "tools/bench.py",
    "tools/calm.py",
    "tools/cli.py",
    "tools/allocation.py",
    "tools/compare.py",
    "tools/counts.py",
    "tools/deploy.py",
    "tools/examples.py",
    "tools/figures.py",
    "tools/hub.py",
    "tools/hub_fetch.py",
    "tools/hub_gallery.py",
    "tools/hub_options.py",
    "tools/hub_validate.py",
    "tools/list.py",
    "tools/list_models.py",
    "tools/progress.py",
    "tools/release.py",
    "tools/reproduce.py",
    "tools/run.py",
    "tools/run_corpus.py",
    "tools/run_server.py",
    "tools/serve.py",
    "tools/sizes.py",
)
ONNX = {"onnx", "tf2onnx", "onnxruntime"}


@dataclass(frozen=True)
class Import:
    module: str
    line: int
    top: bool  # at module level: runs when the file is imported


@functools.cache
def read(path):
    return ast.parse((ROOT / path).read_text(encoding="utf-8"), filename=path)


def imports(tree, top=True):
    """Every import of a tree, with `from package import name` as `package.name`."""
    found = []
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            found += [Import(alias.name, node.lineno, top) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (f"{node.module}." if node.module else "")
            found += [Import(f"{base}{alias.name}", node.lineno, top) for alias in node.names]
        inside = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        found += imports(node, top and not inside)
    return found


def head(module):
    return module.split(".")[0]


def wrong_direction(path, tree):
    """Imports that point up: towards serving, tools or tests, or to a room above one's own."""
    package, *rest = path.removesuffix(".py").split("/")
    above = {"zoo": {"serving", "tools"}, "serving": {"tools"}, "tools": set()}[package] | {"tests"}
    # tools is installed under another name, and so names its own modules relatively; nobody else does.
    relative = ".." if package == "tools" else "."
    found = [item for item in imports(tree) if head(item.module) in above or item.module.startswith(relative)]
    if package == "tools":
        found += [item for item in imports(tree) if head(item.module) == "tools"]
    if path.startswith("serving/runtime/"):
        outside = {"zoo", "keras", "tensorflow", "jax", "onnx", "tf2onnx"}
        lent = LENT_TO_RUNTIME.get(path, set())
        found += [
            item for item in imports(tree) if head(item.module) in outside and (item.top or item.module not in lent)
        ]
        found += [item for item in imports(tree) if item.module.startswith("serving.export")]
    if path.startswith(
        ("serving/client/", "serving/corpus/", "serving/server/")
    ):  # of this repository they know the runtime alone
        ours = [item for item in imports(tree) if head(item.module) in ("zoo", "serving")]
        known = ".".join(path.split("/")[:2]), "serving.runtime"
        found += [item for item in ours if not item.module.startswith(known)]
    if path.startswith(("serving/runtime/", "serving/export/", "serving/deploy/")):
        found += [item for item in imports(tree) if item.module.startswith(("serving.hub", "serving.server"))]
    if path.startswith(("serving/runtime/", "serving/export/", "serving/hub/")):
        found += [item for item in imports(tree) if item.module.startswith("serving.deploy")]
    if path.startswith("serving/deploy/"):  # of zoo it knows how files are written, which needs the standard library
        ours = [item for item in imports(tree) if head(item.module) == "zoo"]
        found += [item for item in ours if not item.module.startswith("zoo.core.storage.")]
    if package == "zoo" and rest != ["__init__"]:
        allowed = ROOMS[rest[0]] | {rest[0], "core"} if rest[0] in ROOMS else set()
        for item in imports(tree):
            parts = item.module.split(".")
            if parts[0] == "zoo" and len(parts) > 1 and (ROOT / "zoo" / parts[1]).is_dir():
                if parts[1] not in allowed:
                    found.append(item)
    return found


# `python -m zoo.check` tells whether a layer has an ONNX form, if the rest of seqzoo is installed with its extras. The
# converter is a plug-in to it: named here and nowhere else, and imported at the moment of the question.
MAY_NAME_SERVING = ("zoo/check/onnx.py",)


def names_serving(tree):
    """Lines with a string that names a module of `serving`, for an import that `imports` cannot see."""
    texts = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return [node.lineno for node in texts if re.fullmatch(r"serving(\.\w+)+", node.value)]


def imported_files(path, known):
    """The files among `known` that a file imports, at its top or inside a function."""
    found = set()
    for item in imports(read(path)):
        parts = item.module.split(".")
        # `from a.b import c` is a/b/c.py, or else a name in a/b.py or in a/b/__init__.py.
        for base in ("/".join(parts), "/".join(parts[:-1])):
            hit = {f"{base}.py", f"{base}/__init__.py"} & known
            if hit:
                found |= hit
                break
    return found - {path}


def import_circles(graph):
    """The sets of files of `graph`, a dict of file -> files that it imports, that import each other in a circle."""
    reached = {}
    for start in graph:
        seen, waiting = set(), [start]
        while waiting:
            new = graph[waiting.pop()] - seen
            seen |= new
            waiting += new
        reached[start] = seen
    circles = {
        frozenset(other for other in seen if start in reached[other])
        for start, seen in reached.items()
        if start in seen
    }
    return sorted(sorted(circle) for circle in circles)


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
    "serving/export/driver.py": {"'name'"},
    "serving/export/onnx/convert.py": {"'python_function'"},
    "serving/export/onnx/places.py": {"'_functions'", "'graph'"},
    "serving/export/partial.py": {"'errno'"},
    "serving/runtime/artefact.py": {"'O_NONBLOCK'", "'strerror'"},
    "serving/runtime/sessions.py": {"'sched_getaffinity'"},
    "tools/run.py": {"'reconfigure'"},
    "zoo/check/implicit_masks.py": {"'_keras_mask'"},
    "zoo/core/protocols.py": {"'traits'"},
    "zoo/hub/regular.py": {"'O_NONBLOCK'"},
    "zoo/models/inside_keras.py": {"'built'", "'loss'"},
    "zoo/training/steps/memory.py": {"'eqns'", "'jaxpr'", "'name'", "'val'"},
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
