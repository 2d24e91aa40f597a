"""`seqzoo train`: Ctrl-C ends with 130 and the command that goes on, and that command does."""

import os
import re
import shlex
import signal
import subprocess
import sys

import pytest

from tests.house_rules import ROOT
from tests.recipes.small import recipe
from tools.cli import main
from zoo import recipes, runs, training
from zoo.runs import repeats

# A shell that starts a job behind it has it ignore Ctrl-C, and so may whoever runs these tests. No `preexec_fn`: where
# JAX has computed in this process, it warns of every fork.
LISTENING = """import runpy, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
runpy.run_module("tools.cli", run_name="__main__", alter_sys=True)"""


@pytest.mark.parametrize(
    ("step", "saved"),
    [(0, "nothing of the training was saved yet"), (1234, "{out} is saved at step 1,234 of 9,999")],
)
def test_an_interrupted_training_says_how_to_go_on(tmp_path, monkeypatch, capsys, step, saved):
    def interrupted(*args, **settings):
        raise KeyboardInterrupt

    monkeypatch.setattr(runs, "train", interrupted)
    monkeypatch.setattr(training, "saved_step", lambda directory: step)
    path, out = tmp_path / "my own.toml", tmp_path / "run"
    (out / "checkpoint").mkdir(parents=True)
    path.write_text(recipes.dumps(recipe(training={"steps": 9999})))
    asked = ["train", str(path), "--out", str(out), "--set", "model.units=7"]
    assert main(asked) == 130
    said = capsys.readouterr().err.splitlines()[-1]
    assert said == (
        f"seqzoo train: interrupted; {saved.format(out=out)}. Continue with: seqzoo {shlex.join(asked)} --resume"
    )


@pytest.mark.parametrize(
    ("options", "directory", "place"),
    [
        (["--seeds", "3"], "seed-2", "run 2 of 3"),
        (["--sweep", "model.cell=gru,lstm", "--sweep", "training.steps=5"], "tried/cell=lstm,steps=5", "run 2 of 2"),
    ],
)
def test_an_interrupted_series_says_how_to_go_on(options, directory, place, tmp_path, monkeypatch, capsys):
    def interrupted(trials, out, *args):
        raise repeats.Stopped(out / trials[1].name, trials[1].recipe.training.steps, place)

    monkeypatch.setattr(repeats, "train_all", interrupted)
    path, out = tmp_path / "mine.toml", tmp_path / "out"
    path.write_text(recipes.dumps(recipe("seq2seq", "training.steps=5")))
    asked = ["train", str(path), "--out", str(out), *options]
    assert main(asked) == 130
    said = capsys.readouterr().err.splitlines()[-1]
    assert said == (
        f"seqzoo train: interrupted in {place}; nothing of the training was saved yet. Continue with: "
        f"seqzoo {shlex.join(asked)} --resume"
    )
    (out / directory / "checkpoint").mkdir(parents=True)
    monkeypatch.setattr(training, "saved_step", lambda place: 4)
    assert main([*asked, "--resume"]) == 130
    assert f"{out / directory} is saved at step 4 of 5. Continue with" in capsys.readouterr().err


@pytest.mark.release
def test_ctrl_c_and_the_command_that_it_names(tmp_path):
    (tmp_path / "mine.toml").write_text(
        recipes.dumps(recipe(training={"steps": 1000, "validate_every": 500, "log_every": 1}))
    )
    command = [sys.executable, "-c", LISTENING, "train", "mine.toml", "--set", "model.units=6"]
    settings = {"cwd": tmp_path, "env": {**os.environ, "PYTHONPATH": str(ROOT)}, "text": True}
    # Of a small pipe a training cannot be at its end before it is read: it waits for a reader who is late.
    pipe = {"stderr": subprocess.PIPE, "pipesize": 4096}
    with subprocess.Popen(command, **pipe, **settings) as process:
        for line in process.stderr:
            if re.match(r"step [5-9]/1,000  loss", line):
                process.send_signal(signal.SIGINT)
                break
        rest = process.stderr.read()
    assert process.returncode == 130, rest
    found = re.search(
        r"interrupted; runs/small is saved at step (\d+) of 1,000\. Continue with: seqzoo (train mine.*--resume)", rest
    )
    assert found and training.saved_step(tmp_path / "runs/small") == int(found[1])
    again = [*command[:3], *shlex.split(found[2]), "--set", "training.steps=1000"]
    done = subprocess.run(again, capture_output=True, timeout=600, **settings)
    assert done.returncode == 0, done.stderr
    first = re.search(r"step ([\d,]+)/1,000", done.stderr)
    assert first[1] == found[1]
    assert (tmp_path / "runs/small/model.keras").is_file()
