"""Models by their names: the runtime, Keras, and the commands."""

import json
import shutil
import subprocess
import sys

import pytest

from serving import Runtime
from serving.runtime.errors import DamagedError
from tests.house_rules import ROOT
from tests.hub import tiny
from tests.recipes.small import recipe
from tests.serving import fake_artefact
from tools import cli
from zoo import hub


def asked(server):
    return [path for path, _ in server.asked]


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_only_what_is_needed_is_fetched(served):
    """Version 2 says that int8 loses nothing; a graph without an int8 form runs in float32."""
    runtime = Runtime("echo")
    assert asked(served) == ["index.json", "echo/2/manifest.json", "echo/2/source.spm", "echo/2/target.spm"]
    assert runtime.run(["abc"])[0].text == "abc" and asked(served)[4:] == ["echo/2/model.int8.onnx"]
    assert runtime.run(["abc"], beam=1)[0].text == "abc" and asked(served)[5:] == ["echo/2/greedy.onnx"]
    assert runtime.attention("ab").target and asked(served)[6:] == ["echo/2/encoder.onnx", "echo/2/step.onnx"]
    assert Runtime("echo", precision="float32").run(["abc"])[0].text == "abc"
    assert asked(served)[8:] == ["echo/2/model.onnx"]


def test_float32_unless_the_hub_says_that_int8_loses_nothing(served):
    assert Runtime("echo@1").run(["abc"])[0].text == "abc"
    assert asked(served)[-1] == "echo/1/model.onnx"
    assert Runtime("thirds").run(["abcd"])[0].label == Runtime(hub.fetch("thirds")).run(["abcd"])[0].label


def test_a_folder_that_exists_wins(served, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fake_artefact.write(tmp_path / "echo", "classify")
    assert Runtime("echo").kind == "classify" and served.asked == []
    shutil.rmtree(tmp_path / "echo")
    assert Runtime("echo").kind == "generate"


@pytest.mark.parametrize("name", ["nowhere", "echo@9", "No Name"])
def test_neither_a_folder_nor_a_model(served, name):
    with pytest.raises(ValueError, match=f"No artefact at {name}: there is no such directory, and "):
        Runtime(name)
    with pytest.raises(ValueError, match=f"No artefact at {name}: there is no such directory. Expected what"):
        Runtime(f"./{name}")


def test_a_file_that_is_swapped_is_never_used(served, models, tmp_path, monkeypatch):
    """In the cache it is fetched again; in the hub it is refused; in both the index decides, and not the manifest."""
    folder = hub.fetch("echo")
    graph = folder / "model.int8.onnx"
    right = graph.read_bytes()
    manifest = json.loads((folder / "manifest.json").read_text())
    graph.write_bytes((folder.parent / "2" / "source.spm").read_bytes())
    fake_artefact.change(folder, files=manifest["files"] | {"model.int8.onnx": "0" * 64})
    assert Runtime("echo").run(["abc"])[0].text == "abc" and graph.read_bytes() == right
    home = tmp_path / "swapped"
    shutil.copytree(models, home)
    shutil.copy(home / "echo" / "2" / "source.spm", home / "echo" / "2" / "model.int8.onnx")
    shutil.copytree(folder.parents[2], tmp_path / "kept")
    shutil.rmtree(folder.parents[2])
    monkeypatch.setenv("SEQZOO_HUB", str(home))
    with pytest.raises(hub.HubError, match="gave other bytes for echo/2/model.int8.onnx"):
        Runtime("echo").run(["abc"])


WRONG = (
    "",
    "[]",
    "null",
    "{",
    "[" * 10**5,
    '{"files": {"../x": ""}}',
    '{"generation": 3}',
    '{"graphs": {"generate": 3}}',
)


@pytest.mark.parametrize("content", WRONG, ids=range(len(WRONG)))
def test_a_manifest_that_does_not_hold_is_damage(tmp_path, monkeypatch, capsys, content):
    folder = tmp_path / "hub" / "a" / "1"
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text(content)
    tiny.write_index(tmp_path / "hub", tiny.entry("a", 1, folder))
    monkeypatch.setenv("SEQZOO_HUB", str(tmp_path / "hub"))
    assert names(hub.fetch("a")) == ["manifest.json"]
    with pytest.raises(DamagedError):
        Runtime("a")
    assert cli.main(["run", "a", "text"]) == 1 and capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("home", ["/dev/null", "/proc/nowhere", "/dev/null/below"])
def test_a_cache_that_cannot_be(served, monkeypatch, capsys, home):
    monkeypatch.setenv("SEQZOO_CACHE", home)
    assert cli.main(["run", "echo", "abc"]) == 1
    assert "SEQZOO_CACHE" in (said := capsys.readouterr().err) and said.count("\n") == 1


def test_run(served, capsys, monkeypatch):
    assert cli.main(["run", "echo", "abc", "b 2"]) == 0
    assert capsys.readouterr() == ("abc\nb 2\n", "")
    count = len(served.asked)
    monkeypatch.setenv("SEQZOO_OFFLINE", "0")  # what --offline sets is gone after the test
    assert cli.main(["run", "echo", "abc", "--offline"]) == 0 and len(served.asked) == count
    assert cli.main(["run", "echo", "abc", "--offline", "--sample"]) == 1
    assert (
        "lacks files of echo@2: sample.onnx (missing). Run `seqzoo hub fetch echo@2 --files" in capsys.readouterr().err
    )
    assert cli.main(["run", "ecko", "abc"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "there is no such directory" in said and "did you mean 'echo'?" in said


def test_bench(served, capsys, tmp_path):
    (tmp_path / "texts").write_text("abc\n")
    given = ["--file", str(tmp_path / "texts"), "--batch", "1", "--rounds", "1", "--json"]
    assert cli.main(["bench", "echo", *given]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(row["mode"], row["precision"]) for row in rows] == [
        ("beam 1", "float32"),
        ("beam 4", "float32"),
        ("beam 4", "int8"),
    ]
    assert cli.main(["bench", "ecko"]) == 2 and "did you mean 'echo'?" in capsys.readouterr().err


def test_what_was_not_published_is_made_from_the_name(served, monkeypatch, capsys):
    """The advice of an error can be followed by who has the name of a model alone."""
    with pytest.raises(ValueError, match="no graph for beam 3; .* `seqzoo export echo@1 --beam 4 --beam 3`"):
        Runtime("echo@1").run(["a"], beam=3)
    given = {}
    monkeypatch.setattr("tools.export.check_artefact", lambda folder: {"name": "echo"})
    monkeypatch.setattr("tools.export.read_stored", lambda path: recipe())
    monkeypatch.setattr("tools.export.export_again", lambda folder, **more: given.update(more) or folder)
    assert cli.main(["export", "echo@1", "--beam", "4", "--beam", "3"]) == 0
    folder = hub.find("echo@1").folder
    assert capsys.readouterr().out == f"{folder}\n" and given["beams"] == (4, 3)
    assert names(folder) == sorted(hub.find("echo@1").entry["files"])
    assert cli.main(["export", "ecko"]) == 2
    assert "No run or artefact at ecko: there is no such directory, and" in capsys.readouterr().err


def test_keras_models_by_name(tmp_path, monkeypatch):
    import keras
    import numpy as np

    import zoo

    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    folder = tmp_path / "hub" / "k" / "1"
    folder.mkdir(parents=True)
    model.save(folder / "model.keras")
    (folder / "manifest.json").write_text("{}")
    tiny.write_index(tmp_path / "hub", tiny.entry("k", 1, folder))
    monkeypatch.setenv("SEQZOO_HUB", str(tmp_path / "hub"))
    inputs = np.ones((1, 3), "float32")
    for loaded in (zoo.load("k"), keras.models.load_model(zoo.path("k")), zoo.load(folder)):
        np.testing.assert_array_equal(loaded(inputs), model(inputs))
    assert zoo.path("k", "manifest.json").read_text() == "{}"
    with pytest.raises(ValueError, match="k@1 has no file 'model.onnx'"):
        zoo.path("k", "model.onnx")
    with pytest.raises(ValueError, match="there is no .*nowhere/model.keras: expected the folder"):
        zoo.load("./nowhere")


def test_without_keras_the_extra_is_named(served, monkeypatch):
    import zoo

    monkeypatch.setitem(sys.modules, "keras", None)
    with pytest.raises(ImportError, match=r"pip install 'seqzoo\[tensorflow\]'.*serving.Runtime needs no framework"):
        zoo.load("echo")
    assert served.asked == []  # nothing is downloaded in vain


def test_a_keras_model_with_code_in_it_is_not_executed(tmp_path, monkeypatch):
    import keras

    import zoo

    folder = tmp_path / "hub" / "evil" / "1"
    folder.mkdir(parents=True)
    keras.Sequential([keras.Input((3,)), keras.layers.Lambda(lambda x: x + 1)]).save(folder / "model.keras")
    (folder / "manifest.json").write_text("{}")
    tiny.write_index(tmp_path / "hub", tiny.entry("evil", 1, folder))
    monkeypatch.setenv("SEQZOO_HUB", str(tmp_path / "hub"))
    with pytest.raises(ValueError, match="(?i)lambda|unsafe"):
        zoo.load("evil")


def test_the_room_imports_little_and_the_network_only_where_it_is_one(models, tmp_path):
    code = (
        "import sys, zoo.hub; zoo.hub.find('echo'); "
        "print([name for name in ('keras', 'numpy', 'onnxruntime', 'ssl', 'urllib.request') if name in sys.modules])"
    )
    environment = {"SEQZOO_HUB": str(models), "SEQZOO_CACHE": str(tmp_path), "PATH": ""}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("[]\n", 0), done.stderr


@pytest.mark.slow
def test_8_processes_load_and_answer(served):
    """Each file is downloaded once, whoever comes first."""
    code = "from serving import Runtime; print(Runtime('echo').run(['abc'])[0].text)"
    command = [sys.executable, "-c", code]
    processes = [subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) for _ in range(8)]
    assert [process.communicate(timeout=120)[0] for process in processes] == ["abc\n"] * 8
    fetched = [path for path in asked(served) if path != "index.json"]
    assert len(fetched) == len(set(fetched)) == 4
