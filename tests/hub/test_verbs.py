"""`seqzoo hub fetch` and `seqzoo hub validate`, and which files they mean."""

import json
import re
import shutil

import pytest

from serving import Runtime
from tests.hub import tiny
from tests.serving import fake_artefact
from tools import cli
from zoo import hub
from zoo.hub import validate


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_hub_fetch(served, capsys):
    assert cli.main(["hub", "fetch", "echo"]) == 0
    folder = hub.find("echo").folder
    assert capsys.readouterr() == (f"{folder}\n", "")
    assert names(folder) == ["manifest.json", "model.int8.onnx", "source.spm", "target.spm"]
    assert cli.main(["hub", "fetch", "echo", "--files", "step.onnx", "greedy.onnx", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == {
        "path": str(folder),
        "name": "echo",
        "version": 2,
        "files": ["step.onnx", "greedy.onnx"],
        "hub": served.address,
    }
    assert cli.main(["hub", "fetch", "echo", "--all"]) == 0
    assert names(folder) == sorted(hub.find("echo").entry["files"])
    for words, said in (
        (["echo", "--all", "--files", "x"], "received --files and --all"),
        (["echo", "--files", "modle.onnx"], "has no file 'modle.onnx'"),
        (["ecko"], "did you mean 'echo'?"),
    ):
        capsys.readouterr()
        assert cli.main(["hub", "fetch", *words]) == 2
        assert said in capsys.readouterr().err


def test_the_default_graph_is_that_of_the_manifest(served, tmp_path, monkeypatch):
    """Where the search that is the default runs another graph than by its name."""
    home = tmp_path / "other"
    folder = fake_artefact.write(home / "echo" / "1")
    fake_artefact.change(folder, default_beam=1)
    tiny.write_index(home, tiny.entry("echo", 1, folder))
    monkeypatch.setenv("SEQZOO_HUB", str(home))
    assert names(hub.fetch("echo")) == ["greedy.onnx", "manifest.json", "source.spm", "target.spm"]


def test_a_graph_that_is_published_in_int8_alone(models, tmp_path, monkeypatch):
    home = tmp_path / "int8"
    shutil.copytree(models / "echo" / "1", home / "echo" / "1")
    (home / "echo" / "1" / "model.onnx").unlink()
    tiny.write_index(home, tiny.entry("echo", 1, home / "echo" / "1"))
    monkeypatch.setenv("SEQZOO_HUB", str(home))
    assert names(hub.fetch("echo")) == ["manifest.json", "model.int8.onnx", "source.spm", "target.spm"]
    assert Runtime("echo").run(["abc"])[0].text == "abc"


def test_a_light_set_cannot_be_verified_as_a_whole(models, tmp_path, monkeypatch, capsys):
    home = tmp_path / "light"
    shutil.copytree(models / "echo" / "1", home / "echo" / "1")
    (home / "echo" / "1" / "step.onnx").unlink()
    tiny.write_index(home, tiny.entry("echo", 1, home / "echo" / "1"))
    monkeypatch.setenv("SEQZOO_HUB", str(home))
    assert cli.main(["verify", "echo"]) == 1
    assert "cannot be verified as a whole" in (said := capsys.readouterr().err) and "does not publish step.onnx" in said
    with pytest.raises(ValueError, match="echo@1 has no file 'step.onnx'"):
        Runtime("echo").attention("ab")


def test_hub_without_a_verb(capsys):
    for words in ([], ["fecth"], ["fetch"]):
        with pytest.raises(SystemExit) as stop:
            cli.main(["hub", *words])
        assert stop.value.code == 2
    assert "seqzoo hub fetch" in capsys.readouterr().err


def test_hub_validate(models, tmp_path, capsys):
    assert cli.main(["hub", "validate", str(models)]) == 0
    assert "checked: the index, models and versions: 3, files: 21; nothing is wrong" in capsys.readouterr().out
    home = tmp_path / "hub"
    shutil.copytree(models, home)
    (home / "echo" / "1" / "step.onnx").unlink()
    (home / "echo" / "1" / "model.onnx").write_bytes(b"short")
    spm = home / "echo" / "2" / "source.spm"
    spm.write_bytes(bytes(spm.stat().st_size))
    (home / "echo" / "2" / "more.txt").touch()
    (home / "thirds" / "1" / "model.onnx").unlink()
    (home / "thirds" / "1" / "model.onnx").symlink_to(models / "thirds" / "1" / "model.onnx")
    assert cli.main(["hub", "validate", str(home), "--json"]) == 1
    wrong = json.loads(capsys.readouterr().out)["hubs"][0]["wrong"]
    assert [line.split(", to ")[0] for line in wrong] == [
        "echo@1: model.onnx: 5 bytes instead of 611",
        "echo@1: step.onnx: missing",
        "echo@2: source.spm: other bytes",
        "thirds@1: model.onnx: a link that leads out of the hub",
        "echo/2/more.txt: not in the index",
    ]
    (home / "index.json").write_text('{"format": 1, "models": [{}]}')
    assert cli.main(["hub", "validate", str(home)]) == 1
    assert "is not the index of a hub: index.models[0] lacks name" in capsys.readouterr().out


def test_whether_this_installation_runs_what_is_cached(served, capsys, monkeypatch):
    hub.fetch("echo")
    assert validate.validate_cached() == [{"name": "echo", "version": 2, "problems": []}]
    entry = hub.find("echo").entry
    versions = {"seqzoo": "0.1.0", "onnxruntime": "1.21.1", "keras": "3.14.9", "tensorflow": None}
    asked = {"requires": {"onnxruntime": ">=1.24", "keras": ">=3.15", "tensorflow": ">=2.21", "seqzoo": ">=0.1"}}
    with monkeypatch.context() as patch:
        patch.setattr(validate.later, "installed_version", versions.get)
        assert validate.problems(entry | asked | {"withdrawn": "Old."}) == [
            "it needs keras>=3.15, and 3.14.9 is installed: pip install 'keras>=3.15'",
            "it needs onnxruntime>=1.24, and 1.21.1 is installed: pip install 'onnxruntime>=1.24'",
            "it was withdrawn: Old.",
        ]
    (hub.find("echo").folder / "source.spm").write_bytes(b"")
    assert cli.main(["hub", "validate"]) == 0
    assert re.search(r"echo@2 in the cache: source.spm: 0 bytes instead of 240,345; the next", capsys.readouterr().out)
