"""An artefact of an older seqzoo is copied to the form that TensorFlow Serving reads; the bytes of its files stay."""

import json
import shutil

import pytest

from serving.runtime import Runtime
from serving.runtime.artefact import check_files, read_manifest, sha256
from tests.serving.fake_artefact import write
from tests.serving.hub.echo import seal
from tools import cli

SAVED = ("saved_model.pb", "fingerprint.pb", "variables/variables.index", "assets/words.txt")
RENAMED = {"files", "sizes", "version", "manifest_sha256"}


def older(home, version=1):
    """A small artefact as older versions wrote it: its SavedModel lies in a folder."""
    artefact = write(home / "echo" / str(version), "classify")
    for name in SAVED:
        path = artefact / "saved_model" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode())
    seal(artefact, format=2, version=version)
    return artefact


def versions(home):
    """What TensorFlow Serving would take for versions of a model: names that are whole numbers."""
    return sorted(path.name for path in home.iterdir() if path.name.lstrip("+-").isdecimal())


def test_the_copy_has_the_same_bytes_under_the_new_names(tmp_path, capsys):
    artefact = older(tmp_path / "old", 3)
    assert cli.main(["export", str(artefact.parent), "--copy", "--out", str(tmp_path / "new")]) == 0
    made = tmp_path / "new" / "echo" / "3"
    assert capsys.readouterr().out == f"{made}\n"
    for name in SAVED:
        assert (made / name).read_bytes() == name.encode()
    assert not (made / "saved_model").exists()
    before, after = read_manifest(artefact), read_manifest(made)
    assert check_files(made, after) == []
    assert {sha256(artefact / name) for name in before["files"]} == {sha256(made / name) for name in after["files"]}
    assert {key for key in before if before[key] != after[key]} == RENAMED - {"version"}
    assert Runtime(made).run(["abc"]) == Runtime(artefact).run(["abc"])


def test_in_its_own_folder_the_copy_is_the_next_version(tmp_path, capsys):
    older(tmp_path, 1)
    older(tmp_path, 4)
    source = str(tmp_path / "echo" / "4")
    assert cli.main(["export", source, "--copy", "--out", str(tmp_path), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["path"] == str(tmp_path / "echo" / "5")
    assert read_manifest(said["path"])["version"] == 5
    assert versions(tmp_path / "echo") == ["1", "4", "5"]
    assert cli.main(["export", source, "--copy", "--out", str(tmp_path), "--version", "5"]) == 2
    assert "5 exists. Choose another --version" in capsys.readouterr().err


def test_a_damaged_artefact_is_not_copied(tmp_path, capsys):
    artefact = older(tmp_path / "old")
    (artefact / "saved_model" / "saved_model.pb").write_bytes(b"another")
    assert cli.main(["export", str(artefact), "--copy", "--out", str(tmp_path / "new")]) == 1
    assert "saved_model/saved_model.pb (another size)" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_a_copy_that_fails_leaves_nothing(tmp_path, monkeypatch):
    artefact = older(tmp_path / "old")

    def full(source, target):
        raise OSError(28, "No space left on device", str(target))

    monkeypatch.setattr(shutil, "copyfile", full)
    assert cli.main(["export", str(artefact), "--copy", "--out", str(tmp_path / "new")]) == 1
    assert list((tmp_path / "new" / "echo").iterdir()) == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--beam", "2"], "--copy keeps every file as it is, and --beam would change them"),
        (["--storage", "float16", "--no-int8"], "--storage, --no-int8 would change them"),
    ],
)
def test_what_would_compute_something_is_refused(tmp_path, capsys, options, said):
    artefact = older(tmp_path)
    assert cli.main(["export", str(artefact), "--copy", *options]) == 2
    assert said in capsys.readouterr().err


def test_without_a_saved_model_there_is_nothing_to_copy(tmp_path, capsys):
    artefact = write(tmp_path / "echo" / "1")
    assert cli.main(["export", str(artefact), "--copy", "--out", str(tmp_path / "new")]) == 2
    assert "expected a SavedModel, and it has none" in capsys.readouterr().err
    assert cli.main(["export", str(tmp_path / "nowhere"), "--copy"]) == 2
    assert "--copy takes an artefact" in capsys.readouterr().err
