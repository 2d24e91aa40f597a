"""`seqzoo deploy`: moving a label changes nothing else, and a command that ends early does no harm."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from serving.deploy import files
from serving.deploy.options import Labels
from tests.house_rules import ROOT
from tests.serving.deploy.commands import content, deploy, served
from tests.serving.deploy.made import artefacts


def test_a_canary_is_tried_promoted_and_taken_back(home, tmp_path, capsys):
    out, before = tmp_path / "server", sorted(path.name for path in home.iterdir())
    assert deploy(home / "1", "--target", "tf-serving", "--out", out, "--models", "/models") == 0
    walk = [
        ([home, "--canary", 2], {"stable": 1, "canary": 2}, [1, 2]),
        (["--canary", 2], {"stable": 1, "canary": 2}, [1, 2]),
        ([home], {"stable": 1, "canary": 2}, [1, 2]),
        (["--promote"], {"stable": 2, "previous": 1}, [1, 2]),
        (["--rollback"], {"stable": 1}, [1]),
        (["--canary", 2], {"stable": 1, "canary": 2}, [1, 2]),
        (["--rollback"], {"stable": 1}, [1]),
    ]
    for arguments, labels, versions in walk:
        assert deploy(*arguments, "--out", out) == 0
        model = served(out)["echo"]
        assert dict(model.version_labels) == labels and list(model.model_version_policy.specific.versions) == versions
        assert model.base_path == "/models/echo"
    assert deploy("--rollback", "--out", out) == 2
    assert "Nothing was changed" in capsys.readouterr().err
    assert sorted(path.name for path in home.iterdir()) == before
    assert (home / "2" / "assets.extra" / "tf_serving_warmup_requests").is_file()


@pytest.mark.parametrize("target", ["tf-serving", "kserve"])
def test_repeating_a_deployment_writes_the_same_bytes(home, tmp_path, target):
    command = [home, "--target", target, "--out", tmp_path / "out"]
    assert deploy(*command) == 0
    before, stamps = content(tmp_path), {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*")}
    assert deploy(*command) == 0 and deploy("--out", tmp_path / "out", home / "2") == 0
    assert content(tmp_path) == before
    assert {path: path.stat().st_mtime_ns for path in stamps} == stamps


def test_a_second_model_comes_beside_the_first(home, tmp_path, saved, capsys):
    out, other = tmp_path / "server", artefacts(tmp_path / "artefacts", (3,), "Über 1", saved)
    assert deploy(home, "--target", "tf-serving", "--out", out) == 0
    assert deploy(other, "--out", out, "--json") == 0
    assert {name: dict(model.version_labels) for name, model in served(out).items()} == {
        "echo": {"stable": 2},
        "Über 1": {"stable": 3},
    }
    assert json.loads(capsys.readouterr().out.partition("\n")[2])["models"]["Über 1"] == {
        "home": str(other),
        "stable": 3,
    }
    assert deploy("--out", out, "--promote") == 2
    assert "changes the labels of one model: name it. Here are echo, Über 1" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["{home}", "--out", "new"], "--target is needed at the first deployment"),
        (["--out", "new", "--promote"], "--promote: nothing is deployed in this folder yet"),
        (["--target", "kserve", "--out", "new"], "name an artefact"),
        (["{home}", "--target", "kserve", "--out", "new", "--canary", "9"], "has no version 9 in .*: there are 1, 2"),
        (["{home}", "--target", "kserve", "--out", "new", "--promote"], "nothing is deployed in this folder yet"),
        (["{home}", "--target", "kserve", "--out", "new", "--storage", "bucket"], "expected an address such as pvc://"),
        (
            ["{home}", "--target", "kserve", "--out", "new", "--max-batch", "9999"],
            "--max-batch: expected from 1 to 4096",
        ),
        (["{home}", "--target", "tf-serving", "--out", "old"], "this folder has a deployment for kserve"),
        (["{home}/2", "--out", "old"], "Version 2 of echo is not deployed: stable is version 1. Try it first"),
        (["{other}", "--out", "old"], "echo is deployed from .*; received .*elsewhere"),
        (["nowhere/here", "--target", "kserve", "--out", "new"], "No artefact at nowhere/here"),
        (["{light}", "--target", "tf-serving", "--out", "new"], "it has no SavedModel. `seqzoo export"),
    ],
)
def test_wrong_use_is_told_and_writes_nothing(home, tmp_path, monkeypatch, capsys, arguments, said):
    other = artefacts(tmp_path / "elsewhere", (1,))
    light = artefacts(tmp_path / "light", (1,), "light")
    monkeypatch.chdir(tmp_path)
    assert deploy(home / "1", "--target", "kserve", "--out", "old") == 0
    before = content(tmp_path)
    assert deploy(*(each.format(home=home, other=other, light=light) for each in arguments)) == 2
    error = capsys.readouterr().err
    assert error.count("\n") <= 4 and re.search(said, error), error
    assert content(tmp_path) == before and not (tmp_path / "new").exists()


def test_a_damaged_version_or_plan_is_not_deployed(home, tmp_path, capsys):
    out = tmp_path / "out"
    (home / "2" / "model.onnx").write_bytes(b"another")
    assert deploy(home, "--target", "kserve", "--out", out) == 1
    assert "model.onnx" in capsys.readouterr().err and not out.exists()
    assert deploy(home / "1", "--target", "kserve", "--out", out) == 0
    for text in ("{", '{"format": 1}', (out / "deployment.json").read_text().replace('"stable": 1', '"stable": "1"')):
        (out / "deployment.json").write_text(text)
        assert deploy(home / "1", "--out", out) == 1
        assert "deployment.json is damaged" in capsys.readouterr().err


def test_an_artefact_whose_folder_is_no_version_is_refused(home, tmp_path, capsys):
    (home / "2").rename(home / "second")
    assert deploy(home / "second", "--target", "kserve", "--out", tmp_path / "out") == 2
    assert "so its folder must have this name" in capsys.readouterr().err


def test_what_a_killed_deployment_left_goes_with_the_next(home, tmp_path):
    out = tmp_path / "out"
    assert deploy(home, "--target", "kserve", "--out", out) == 0
    (out / ".echo.yaml.77.partial").write_text("half")
    assert deploy("--out", out, home) == 0
    assert not list(out.glob(".*.partial"))


@pytest.mark.release
def test_fifty_kills_leave_a_whole_deployment(home, tmp_path):
    """Whenever it ends, each file is the old or the new one, and the same command brings the rest."""
    out = tmp_path / "out"
    assert deploy(home / "1", "--target", "kserve", "--out", out) == 0
    states = {}
    for change in (["--canary", "2"], ["--rollback"]):
        assert deploy(*change, "--out", out) == 0
        states[change[0]] = content(out)
    seen = {name: {state[name] for state in states.values()} for name in states["--rollback"]}
    program = "import sys; from tools.cli import main; sys.exit(main(sys.argv[1:]))"
    killed, seconds = 0, 0.5
    for number in range(50):
        change = ["--rollback"] if number % 2 else ["--canary", "2"]
        command = [sys.executable, "-c", program, "deploy", *change, "--out", str(out)]
        running = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            running.wait(seconds * number / 50)  # from its first moment to its last, however quick the machine
        except subprocess.TimeoutExpired:
            running.send_signal(signal.SIGKILL)
            running.wait()
            killed += 1
        for name, text in content(out).items():
            assert name.startswith(".") or text in seen[name]
        started = time.monotonic()
        done = subprocess.run(command, cwd=ROOT, capture_output=True)
        seconds = time.monotonic() - started
        if done.returncode == 2:  # the one that was killed had come to its end
            assert b"Nothing was changed" in done.stderr
        assert content(out) == states[change[0]]
    assert killed >= 10


def test_a_file_is_replaced_as_a_whole(tmp_path, monkeypatch):
    files.write(tmp_path / "a", "old")
    monkeypatch.setattr(os, "replace", lambda *names: (_ for _ in ()).throw(OSError("killed")))
    with pytest.raises(OSError, match="killed"):
        files.write(tmp_path / "a", "new")
    assert content(tmp_path) == {"a": b"old"}


def test_a_trial_that_is_promoted_and_taken_back():
    first = Labels(1)
    trial = first.try_version(2)
    assert trial.by_name == {"stable": 1, "canary": 2} and trial.versions == [1, 2]
    promoted = trial.promote()
    assert promoted.by_name == {"stable": 2, "previous": 1}
    assert promoted.roll_back() == first and trial.roll_back() == first
    assert promoted.try_version(3) == Labels(2, canary=3)


def test_repeating_a_trial_changes_nothing():
    assert Labels(1).try_version(2).try_version(2) == Labels(1, canary=2)


@pytest.mark.parametrize(
    ("labels", "change", "said"),
    [
        (Labels(2), lambda labels: labels.try_version(2), "version 2 is stable already"),
        (
            Labels(1, canary=2),
            lambda labels: labels.try_version(3),
            "End its trial first, with --promote or --rollback",
        ),
        (Labels(1), Labels.promote, "there is no canary; stable is version 1"),
        (Labels(2, previous=1), Labels.promote, "stable is version 2, previous is version 1"),
        (Labels(1), Labels.roll_back, "no canary and no version of before"),
    ],
)
def test_what_makes_no_sense_is_refused(labels, change, said):
    with pytest.raises(ValueError, match=said):
        change(labels)


def test_a_label_in_use_never_jumps_to_a_version_that_is_not_loaded():
    """TensorFlow Serving refuses such a configuration as a whole. All states that can be reached are tried."""
    changes = [lambda labels, version=version: labels.try_version(version) for version in range(1, 5)]
    changes += [Labels.promote, Labels.roll_back]
    known, new = set(), {Labels(1)}
    while new:
        known |= new
        pairs = []
        for labels in new:
            for change in changes:
                with contextlib.suppress(ValueError):
                    pairs.append((labels, change(labels)))
        for labels, after in pairs:
            assert len(after.versions) == len(after.by_name) <= 2
            for label, version in after.by_name.items():
                assert label not in labels.by_name or version in labels.versions
        new = {after for _, after in pairs} - known
    assert len(known) == 4 + 2 * 4 * 3  # one version alone, or two with the one as canary or as previous
