"""Commands that write in one run folder: one at a time, and what a killed one has left blocks nobody."""

import json
import subprocess
import sys
import time

import pytest

from tests.recipes.small import recipe
from zoo.core.storage import LOCK, one_writer
from zoo.recipes import dumps, load

PATIENCE = 300  # seconds after which a test gives up
BUSY = "another process is working in"


def command(tmp_path, *words):
    words = [sys.executable, "-m", "seqzoo", *words]
    return {"args": words, "cwd": tmp_path, "stderr": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}


def run_command(tmp_path, *words):
    done = subprocess.run(timeout=PATIENCE, **command(tmp_path, *words))
    return done.returncode, done.stderr


@pytest.fixture
def place(tmp_path):
    """A folder with small.toml."""
    (tmp_path / "small.toml").write_text(dumps(recipe("seq2seq")), encoding="utf-8")
    return tmp_path


@pytest.mark.slow
def test_of_two_trainings_begun_at_once_one_trains(place):
    seeds = (3, 5)
    both = [
        subprocess.Popen(**command(place, "train", "small.toml", "--out", "run", "--set", f"training.seed={seed}"))
        for seed in seeds
    ]
    errors = [each.communicate(timeout=PATIENCE)[1] for each in both]
    assert sorted(each.returncode for each in both) == [0, 1], errors
    won = [each.returncode for each in both].index(0)
    assert BUSY in errors[1 - won] or "holds a run already" in errors[1 - won]
    assert load(str(place / "run" / "recipe.toml")).training.seed == seeds[won]
    assert (place / "run" / "model.keras").is_file() and not (place / "run" / LOCK).exists()


@pytest.mark.release
def test_what_writes_beside_a_training_is_refused_until_it_is_killed(place):
    many = ["--set", "training.steps=1000000"]
    first = subprocess.Popen(**command(place, "train", "small.toml", "--out", "run", *many))
    try:
        end = time.monotonic() + PATIENCE
        while not (place / "run" / "checkpoint" / "state.npz").is_file():
            assert first.poll() is None and time.monotonic() < end
            time.sleep(0.1)
        status, error = run_command(place, "train", "small.toml", "--out", "run", "--resume", *many)
        assert status == 1 and BUSY in error and "Traceback" not in error
    finally:
        first.kill()
        first.communicate()
    assert (place / "run" / LOCK).exists()
    status, error = run_command(place, "train", "small.toml", "--out", "run", "--resume", "--set", "training.steps=1")
    assert status == 0, error
    for words in (["evaluate", "run"], ["export", "run"]):
        with one_writer(place / "run"):
            status, error = run_command(place, *words)
        assert status == 1 and BUSY in error, error
    assert not (place / "run" / "scores.json").exists() and not list((place / "artefacts").glob("*/1"))
    status, error = run_command(place, "evaluate", "run")
    assert status == 0 and json.loads((place / "run" / "scores.json").read_text(encoding="utf-8")), error


@pytest.mark.slow
@pytest.mark.parametrize("series", [["--seeds", "2"], ["--sweep", "training.seed=1,2"]])
def test_a_series_is_alone_in_its_folder(place, series):
    with one_writer(place / "run"):
        status, error = run_command(place, "train", "small.toml", "--out", "run", *series)
        assert status == 1 and BUSY in error, error
        assert [each.name for each in (place / "run").iterdir()] == [LOCK]
