"""The house rules that a machine can check: who imports whom, sizes, and what survives export."""

import ast
import subprocess
import sys

import pytest

from tests.house_rules import (
    EXPORTED,
    MAY_ASK,
    MAY_IMPORT_TENSORFLOW,
    MAY_IMPORT_TENSORFLOW_TEXT,
    MAY_NAME_SERVING,
    ONNX,
    ROOMS,
    ROOT,
    SOURCES,
    WITHOUT_FRAMEWORK,
    flags_asked,
    head,
    import_circles,
    imported_files,
    imports,
    lost_in_export,
    names_serving,
    read,
    wrong_direction,
)
from tests.house_shape import MAX_LINES, argument_counts, inheritance, line_count, too_deep, too_many_arguments

FRAMEWORKS = {"jax", "keras", "onnx", "tensorflow", "tensorflow_text", "zoo"}


def listed(folder):
    return sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / folder).rglob("*.py"))


def test_imports_run_one_way():
    assert not {path: found for path in SOURCES if (found := wrong_direction(path, read(path)))}


def test_zoo_names_serving_in_one_place():
    named = [path for path in SOURCES if path.startswith("zoo/") and names_serving(read(path))]
    assert named == list(MAY_NAME_SERVING)


def test_no_files_import_each_other_in_a_circle():
    """Not inside a function either, where such an import only hides that two files are one idea."""
    known = set(SOURCES)
    assert import_circles({path: imported_files(path, known) for path in SOURCES}) == []


def test_circles_are_noticed():
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}
    assert import_circles(graph) == [["b", "c"]]


def fragile(path):
    """Imports of what is dear or breaks easily, outside the files that may have them."""
    found = imports(read(path))
    wrong = []
    if not path.startswith(MAY_IMPORT_TENSORFLOW_TEXT):
        wrong += [item for item in found if head(item.module) == "tensorflow_text"]
    if head(path.replace("/", ".")) == "zoo" and path not in MAY_IMPORT_TENSORFLOW:
        wrong += [item for item in found if head(item.module) == "tensorflow" and item.top]
    if not path.startswith("serving/"):
        wrong += [item for item in found if head(item.module) in ONNX]
    if path.startswith(WITHOUT_FRAMEWORK):
        heavy = {"keras", "tensorflow", "jax"} | ({"zoo"} if path.startswith("serving/") else set())
        wrong += [item for item in found if head(item.module) in heavy and item.top]
    return wrong


def test_fragile_imports_stay_in_their_room():
    assert not {path: found for path in SOURCES if (found := fragile(path))}
    missing = [path for path in (*MAY_IMPORT_TENSORFLOW, *WITHOUT_FRAMEWORK) if not (ROOT / path).exists()]
    assert not missing, f"house_rules names files that are not there: {missing}"


def test_files_are_short():
    paths = [*SOURCES, *listed("tests"), *listed("benchmarks")]
    long = {path: lines for path in paths if (lines := line_count(path)) > MAX_LINES}
    assert not long, "split them by idea"


def test_callables_take_few_arguments():
    assert not too_many_arguments([*SOURCES, *listed("benchmarks")]), "compose instead"


def test_classes_inherit_from_few():
    assert not too_deep({path: read(path) for path in SOURCES}), "compose instead"


def test_operations_survive_export():
    paths = [path for path in SOURCES if path.split("/")[1] in EXPORTED]
    assert not {path: found for path in paths if (found := lost_in_export(read(path), path))}


def test_rooms_are_those_that_are_there():
    rooms = {path.split("/")[1] for path in SOURCES if path.count("/") > 1 and path[:4] == "zoo/"}
    assert rooms == ROOMS.keys()
    assert set().union(*ROOMS.values()) <= rooms and set(EXPORTED) <= rooms


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("zoo", {"keras", "tensorflow", "jax", "tensorflow_text", *ONNX}),
        pytest.param("zoo.models", {"tensorflow_text", *ONNX}, marks=pytest.mark.slow),
        ("zoo.scores", FRAMEWORKS - {"zoo"} | {"matplotlib", "sacrebleu"}),
        ("zoo.data.formats", {"datasets", "keras", "tensorflow", "jax", "tensorflow_text", *ONNX}),
        ("zoo.recipes", {"keras", "tensorflow", "jax", "tensorflow_text", *ONNX}),
        ("serving.runtime", FRAMEWORKS),
        ("serving.client.asynchronous", FRAMEWORKS | {"grpc", "kserve", "numpy", "onnxruntime", "sentencepiece"}),
        ("serving.corpus.process, serving.corpus.rows", FRAMEWORKS | {"numpy", "onnxruntime", "pyarrow", "rich"}),
        ("tools.cli", FRAMEWORKS),
        ("tools.run", FRAMEWORKS - {"zoo"} | {"matplotlib"}),
        ("tools.serve", FRAMEWORKS | {"kserve", "uvicorn", "grpc"}),
        ("tools.list", FRAMEWORKS - {"zoo"}),
        ("tools.hub_fetch", FRAMEWORKS),
        ("tools.hub_validate", FRAMEWORKS),
        ("zoo.hub.resolve", FRAMEWORKS - {"zoo"} | {"numpy", "onnxruntime", "huggingface_hub", "urllib.request"}),
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
        ("zoo/core/a.py", "from zoo.recurrent import RecurrentEncoder"),
        ("zoo/core/a.py", "from zoo.gradients import rows"),
        ("zoo/gradients/a.py", "from zoo.depth import Stack"),
        ("serving/runtime/a.py", "def f():\n    import zoo.text"),
        ("serving/runtime/a.py", "def f():\n    from zoo import hub"),
        ("serving/runtime/named.py", "from zoo import hub"),
        ("serving/runtime/named.py", "def f():\n    from zoo import text"),
        ("serving/runtime/a.py", "from serving.export.settings import Settings"),
        ("serving/export/a.py", "def f():\n    from serving.hub import publish"),
        ("serving/client/a.py", "from zoo import hub"),
        ("serving/corpus/a.py", "def f():\n    from serving.client import Client"),
        ("serving/export/a.py", "def f():\n    from serving.server import lane"),
        ("serving/deploy/a.py", "from zoo.core import masks"),
        ("serving/server/a.py", "def f():\n    from zoo import hub"),
        ("serving/server/a.py", "def f():\n    from serving.export import export"),
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


def test_what_a_layer_can_do_is_asked_of_its_protocol():
    # They ask settings by their names, things of other libraries, and syntax trees.
    other = ("zoo/recipes/", "zoo/runs/", "zoo/data/formats/", "zoo/settings/declared.py")
    paths = [path for path in SOURCES if not path.startswith(other)]
    assert not {path: found for path in paths if (found := flags_asked(read(path), path))}, "zoo.core.protocols"
    asked = {path: {name for _, name in flags_asked(read(path))} for path in MAY_ASK}
    assert asked == MAY_ASK, "exceptions that are no longer needed"


@pytest.mark.parametrize("line", ["getattr(a, 'b', 0)", "getattr(a, 'b')", "getattr(a, b, None)", "hasattr(a, b)"])
def test_flags_that_are_asked_are_noticed(line):
    assert flags_asked(ast.parse(line)) and not flags_asked(ast.parse("getattr(a, b)"))


def test_arguments_are_counted():
    code = "def f(a, /, b=1, *c, d, **e): ...\nclass A:\n    def __init__(self, a, b=1, *, c=2, **kwargs): ..."
    assert argument_counts(ast.parse(code)) == {"f": 3, "A.__init__": 3}


def test_levels_are_counted():
    """Also through packages, aliases and mixins."""
    sources = {
        "zoo/a.py": "import keras\nfrom keras import layers as l\nclass A(l.Layer): ...\nclass B(keras.Model): ...",
        "zoo/b.py": "from zoo import A\nclass Deep: ...\nclass Mixin(Deep): ...\nclass C(Mixin, A): ...\n"
        "class D(C): ...",
        "zoo/c.py": "import abc\nclass E(abc.ABC): ...\nclass F(E): ...\nclass G(F): ...\nclass H(G): ...",
    }
    sources = {path: ast.parse(code) for path, code in sources.items()}
    levels = {name.rpartition(".")[2]: level for name, (level, _) in inheritance(sources).items()}
    assert levels == {"A": 1, "B": 1, "Deep": 1, "Mixin": 2, "C": 2, "D": 3, "E": 1, "F": 2, "G": 3, "H": 4}
    assert too_deep(sources) == ["zoo.b.D: 3", "zoo.c.H: 4"]
