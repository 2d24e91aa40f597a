"""The house rules that a machine can check: who imports whom, sizes, and what survives export."""

import ast
import subprocess
import sys

import pytest

from tests.house_rules import (
    EXPORTED,
    MAX_ARGUMENTS,
    MAX_LINES,
    MAY_IMPORT_TENSORFLOW,
    MAY_IMPORT_TENSORFLOW_TEXT,
    MORE_ARGUMENTS,
    ONNX,
    ROOMS,
    ROOT,
    SOURCES,
    WITHOUT_FRAMEWORK,
    constructor_arguments,
    head,
    import_circles,
    imported_files,
    imports,
    lost_in_export,
    read,
    wrong_direction,
)

FRAMEWORKS = {"jax", "keras", "onnx", "tensorflow", "tensorflow_text", "zoo"}


@pytest.mark.parametrize("path", SOURCES)
def test_imports_run_one_way(path):
    assert not wrong_direction(path, read(path))


def test_no_files_import_each_other_in_a_circle():
    """Not inside a function either, where such an import only hides that two files are one idea."""
    known = set(SOURCES)
    assert import_circles({path: imported_files(path, known) for path in SOURCES}) == []


def test_circles_are_noticed():
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}
    assert import_circles(graph) == [["b", "c"]]


@pytest.mark.parametrize("path", SOURCES)
def test_fragile_imports_stay_in_their_room(path):
    found = imports(read(path))
    package, _, rest = path.partition("/")
    if not path.startswith(MAY_IMPORT_TENSORFLOW_TEXT):
        assert not [item for item in found if head(item.module) == "tensorflow_text"]
    if package == "zoo" and path not in MAY_IMPORT_TENSORFLOW:
        assert not [item for item in found if head(item.module) == "tensorflow" and item.top]
    if package != "serving":
        assert not [item for item in found if head(item.module) in ONNX]
    if path.startswith(WITHOUT_FRAMEWORK):
        heavy = {"keras", "tensorflow", "jax", "zoo"}
        assert not [item for item in found if head(item.module) in heavy and item.top]


@pytest.mark.parametrize("path", SOURCES)
def test_sizes(path):
    lines = (ROOT / path).read_text(encoding="utf-8").count("\n")
    assert lines <= MAX_LINES, f"{path} has {lines} lines: split it by idea"
    module = path.removesuffix(".py").replace("/", ".")
    for name, count in constructor_arguments(read(path)).items():
        if f"{module}.{name}" not in MORE_ARGUMENTS:
            assert count <= MAX_ARGUMENTS, f"{name} takes {count} arguments: compose instead"


@pytest.mark.parametrize("path", [path for path in SOURCES if path.split("/")[1] in EXPORTED])
def test_operations_survive_export(path):
    assert not lost_in_export(read(path), path)


def test_rooms_are_known():
    rooms = {path.split("/")[1] for path in SOURCES if path.count("/") > 1 and path[:4] == "zoo/"}
    assert rooms <= ROOMS.keys()
    assert set(EXPORTED) <= ROOMS.keys()


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("zoo", {"tensorflow_text", *ONNX}),
        ("serving.runtime", FRAMEWORKS),
        ("tools.cli", FRAMEWORKS),
        ("tools.run", FRAMEWORKS | {"matplotlib"}),
        ("tools.list", FRAMEWORKS),
    ],
)
def test_importing_leaves_out(module, absent):
    code = f"import sys, {module}; print([name for name in {sorted(absent)!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("zoo/attention/a.py", "from zoo.models import Seq2Seq"),
        ("zoo/attention/a.py", "from zoo import models"),
        ("zoo/attention/a.py", "from ..models import Seq2Seq"),
        ("zoo/decoding/a.py", "import zoo.models"),
        ("zoo/specs.py", "from zoo.recurrent import RecurrentEncoder"),
        ("zoo/models/a.py", "def f():\n    import serving.runtime"),
        ("serving/a.py", "from tools.run import main"),
        ("tools/a.py", "from tests.contracts import battery"),
        ("tools/a.py", "from tools.run import main"),
        ("tools/a.py", "from ..zoo import models"),
    ],
)
def test_wrong_directions_are_noticed(path, line):
    assert wrong_direction(path, ast.parse(line))


@pytest.mark.parametrize(
    "line",
    [
        "ops.argmax(logits, axis=-1)",
        "keras.ops.argmax(logits)",
        "ops.argmax(ops.cast(logits, 'float32'))",
        "ops.gelu(x, approximate=False)",
        "activations.gelu(x)",
        "layers.Dense(3, activation='gelu')",
        "ops.slice_update(a, b, c)",
        "ops.expm1(x)",
        "keras.ops.searchsorted(a, b)",
    ],
)
def test_lost_operations_are_noticed(line):
    assert lost_in_export(ast.parse(line))


@pytest.mark.parametrize(
    "line",
    [
        "ops.argmax(ops.cast(x == m, 'int32'), axis=-1)",
        "ops.argmax(ops.cast(x == m, dtype='int32'))",
        "ops.gelu(x)",
        "activations.gelu(x, approximate=True)",
        "np.argmax(logits)",
        "layers.Dense(3, activation='tanh')",
    ],
)
def test_sound_operations_pass(line):
    assert not lost_in_export(ast.parse(line))


def test_constructor_arguments_are_counted():
    code = "class A:\n    def __init__(self, a, b=1, *, c=2, **kwargs): ..."
    assert constructor_arguments(ast.parse(code)) == {"A": 3}
