"""The house rules that a machine can check: who imports whom, sizes, and what survives export."""

import ast
import importlib.util
import shutil
import subprocess
import sys

import pytest

from tests.house_rules import (
    EXPORTED,
    MAY_ASK,
    MAY_NAME_SERVING,
    ROOT,
    SOURCES,
    flags_asked,
    kinds_named,
    lost_in_export,
    named_later,
    names_serving,
    read,
)
from tests.house_shape import MAX_LINES, inheritance, line_count, too_deep
from tests.shared import python

pytestmark = pytest.mark.xdist_group("architecture")  # one worker reads the sources, once
ONNX = {"onnx", "tf2onnx", "onnxruntime"}
FRAMEWORKS = {"jax", "keras", "onnx", "tensorflow", "tensorflow_text", "zoo"}


def listed(folder):
    return sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / folder).rglob("*.py"))


def lint_imports(folder):
    """Who imports whom by the contracts in pyproject.toml: the exit status of import-linter, and what it prints."""
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as main; main()", "--no-cache"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout + done.stderr


def test_imports_keep_the_contracts():
    status, said = lint_imports(ROOT)
    assert status == 0, said


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """A copy of the product."""
    folder = tmp_path_factory.mktemp("house")
    for path in [*SOURCES, "pyproject.toml"]:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / path, folder / path)
    return folder


@pytest.mark.slow(but=5)
@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("zoo/attention/alignment.py", "from zoo.models import Seq2Seq"),
        ("zoo/settings/table.py", "import keras"),
        ("zoo/recipes/toml.py", "def f():\n    from zoo.training import fit"),
        ("serving/runtime/loaded.py", "def f():\n    import zoo.text"),
        ("tools/shared.py", "from zoo.models import Seq2Seq"),
        ("zoo/core/norms.py", "from zoo.gradients import rows"),
        ("zoo/models/encoder.py", "from zoo import text"),
        ("zoo/decoding/sampling.py", "import zoo.models"),
        ("zoo/training/plan.py", "import tensorflow"),
        ("zoo/check/uses.py", "import onnx"),
        ("zoo/models/encoder.py", "def f():\n    import serving.runtime"),
        ("serving/runtime/loaded.py", "from serving.export.settings import Settings"),
        ("serving/export/sizes.py", "def f():\n    from serving.hub import publish"),
        ("serving/corpus/disk.py", "def f():\n    from serving.client import Client"),
        ("serving/deploy/files.py", "from zoo.core import masks"),
        ("serving/server/batcher.py", "from tools.run import main"),
        ("zoo/core/escaping.py", "from zoo.core import storage"),
    ],
)
def test_wrong_imports_are_noticed(house, path, line):
    held = (house / path).read_text(encoding="utf-8")
    (house / path).write_text(f"{held}\n{line}\n", encoding="utf-8")
    status, said = lint_imports(house)
    (house / path).write_text(held, encoding="utf-8")
    assert status == 1 and "BROKEN" in said, said


@pytest.mark.slow
def test_what_is_named_later_is_there():
    """In packages that are installed, with all that is asked of it; and zoo names nothing of serving."""
    found = [(path, name, asked) for path in SOURCES for name, asked in named_later(read(path)).items()]
    assert len(found) > 50 and not [each for each in found if each[0][:4] == "zoo/" and each[1][:7] == "serving"]
    for path, name, asked in found:
        if importlib.util.find_spec(name.partition(".")[0]):
            module = importlib.import_module(name)
            assert not [each for each in asked if not hasattr(module, each)], (path, name)


def test_zoo_names_serving_in_one_place():
    named = [path for path in SOURCES if path.startswith("zoo/") and names_serving(read(path))]
    assert named == list(MAY_NAME_SERVING)


def test_the_kind_of_an_answer_is_asked_and_not_named():
    assert {name: lines for name in SOURCES if (lines := kinds_named(read(name)))} == {}
    named = 'if runtime.kind == "tag" or manifest["kind"] in ("embed", "rate"):\n    pass\nif task == "tag": pass'
    assert kinds_named(ast.parse(named)) == [1, 1]


def test_files_are_short():
    paths = [*SOURCES, *listed("tests"), *listed("benchmarks")]
    long = {path: lines for path in paths if (lines := line_count(path)) > MAX_LINES}
    assert not long, "split them by idea"


def test_classes_inherit_from_few():
    assert not too_deep({path: read(path) for path in SOURCES}), "compose instead"


def test_operations_survive_export():
    paths = [path for path in SOURCES if path.split("/")[1] in EXPORTED]
    assert not {path: found for path in paths if (found := lost_in_export(read(path), path))}


def test_rooms_say_what_they_are():
    """The first word of a room says whether it is plain, or needs Keras."""
    rooms = {path.split("/")[1] for path in SOURCES if path.count("/") > 1 and path[:4] == "zoo/"}
    said = {room: ast.get_docstring(read(f"zoo/{room}/__init__.py")) or "" for room in rooms}
    assert not [room for room, text in said.items() if not text.startswith(("Plain: ", "Keras: "))]
    assert set(EXPORTED) <= {room for room, text in said.items() if text.startswith("Keras: ")}


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("zoo", {"keras", "tensorflow", "jax", "tensorflow_text", *ONNX}),
        pytest.param("zoo.models", {"tensorflow_text", *ONNX}, marks=pytest.mark.slow),
        ("zoo.scores", FRAMEWORKS - {"zoo"} | {"matplotlib", "sacrebleu"}),
        (
            "zoo.data.formats",
            {"datasets", "keras", "tensorflow", "jax", "tensorflow_text", *ONNX},
        ),
        ("zoo.recipes", {"keras", "tensorflow", "jax", "tensorflow_text", *ONNX}),
        ("serving.runtime", FRAMEWORKS),
        ("serving.client.client", FRAMEWORKS | {"grpc", "google", "numpy", "onnxruntime", "sentencepiece"}),
        ("serving.corpus.process, serving.corpus.rows", FRAMEWORKS | {"numpy", "onnxruntime", "pyarrow", "rich"}),
        ("tools.cli", FRAMEWORKS),
        ("tools.run", FRAMEWORKS - {"zoo"} | {"matplotlib"}),
        ("tools.serve", FRAMEWORKS | {"starlette", "uvicorn", "grpc"}),
        ("tools.list", FRAMEWORKS - {"zoo"}),
        ("tools.hub", FRAMEWORKS - {"zoo"}),
        ("zoo.hub.resolve", FRAMEWORKS - {"zoo"} | {"numpy", "onnxruntime", "huggingface_hub", "urllib.request"}),
    ],
)
def test_importing_leaves_out(module, absent):
    code = f"import sys, {module}; print([name for name in {sorted(absent)!r} if name in sys.modules])"
    assert python("-c", code).stdout.strip() == "[]"


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
