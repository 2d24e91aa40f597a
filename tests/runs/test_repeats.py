"""Series of runs: seeds with mean and deviation, and sweeps that keep the best; what is wrong is told before a run."""

import json
import math

import keras
import numpy as np
import pytest

from tests.recipes.small import recipe
from tests.shared import python
from tools.train import table
from zoo import recipes, runs
from zoo.runs import repeats, start

pytestmark = pytest.mark.slow  # each trains several runs


@pytest.fixture
def trainings(monkeypatch):
    """Trainings without a model: what was asked for, and files of a run with the scores that `scores` gives."""
    asked = []

    def scores(one):
        return {"nll": 2.0 / one.training.seed, "accuracy": 0.25 * one.training.seed, "averaged": 1}

    def train(one, directory, data=None, resume=False, callbacks=(), log=None):
        asked.append((directory.name, resume))
        valid = train.scores(one)
        if isinstance(valid, BaseException):
            raise valid
        directory.mkdir(parents=True, exist_ok=True)
        summary = {"steps": one.training.steps, "training_seconds": 1.5, "valid": valid}
        (directory / "best").mkdir(exist_ok=True)
        (directory / "best" / f"{directory.name}.npz").write_text("weights")
        (directory / "recipe.toml").write_text(recipes.dumps(one))
        (directory / "model.keras").write_text(directory.name)
        (directory / "training.json").write_text(json.dumps(summary))
        return summary

    train.scores, train.asked = scores, asked
    monkeypatch.setattr(start, "train", train)
    return train


def by_rate(best):
    """Scores of a sweep over learning rates: the nearer to the best one, the better."""
    return lambda one: {"nll": abs(one.training.learning_rate - best), "accuracy": one.training.learning_rate}


def test_seeds_have_a_mean_and_a_deviation(trainings, tmp_path):
    said = []
    summary = repeats.repeat(recipe(), 3, tmp_path / "out", log=said.append)
    assert [name for name, _ in trainings.asked] == ["seed-1", "seed-2", "seed-3"]
    nll = np.array([2.0, 1.0, 2 / 3])
    assert summary["valid"]["nll"] == pytest.approx({"mean": nll.mean(), "deviation": nll.std(ddof=1)})
    assert summary["valid"].keys() == {"nll", "accuracy"}
    assert json.loads((tmp_path / "out/summary.json").read_text()) == summary
    assert said == ["3 runs of at most 4 steps each", *(f"run {n} of 3: seed-{n}" for n in (1, 2, 3))]
    seeds = [recipes.load(tmp_path / f"out/seed-{n}/recipe.toml").training.seed for n in (1, 2, 3)]
    assert seeds == [1, 2, 3]
    lines = table(summary).splitlines()
    assert lines[0].split() == ["run", "steps", "nll", "accuracy"] and lines[2].split() == [
        "seed-2",
        "4",
        "1.0000",
        "0.5000",
    ]
    assert lines[4].split() == ["mean", "1.2222", "0.5000"] and lines[5].split() == ["deviation", "0.6939", "0.2500"]


def test_seeds_go_on_from_the_recipes_own(trainings, tmp_path):
    summary = repeats.repeat(recipe("seq2seq", "training.seed=7"), 1, tmp_path)
    assert [row["run"] for row in summary["runs"]] == ["seed-7"]
    assert summary["valid"]["nll"] == {"mean": 2 / 7, "deviation": None}
    assert table(summary).splitlines()[-1].split() == ["deviation", "-", "-"]


@pytest.mark.slow
def test_a_series_goes_on_where_it_was(trainings, tmp_path):
    """What is finished is not trained again; more seeds, and more steps, are."""
    usual = trainings.scores
    trainings.scores = lambda one: KeyboardInterrupt() if one.training.seed == 2 else usual(one)
    with pytest.raises(repeats.Stopped) as stop:
        repeats.repeat(recipe(), 3, tmp_path)
    assert (stop.value.directory, stop.value.steps, stop.value.place) == (tmp_path / "seed-2", 4, "run 2 of 3")
    trainings.scores = usual
    with pytest.raises(ValueError, match="seed-1 holds a run already. Continue it with --resume"):
        repeats.repeat(recipe(), 3, tmp_path)
    said, trainings.asked[:] = [], []
    whole = repeats.repeat(recipe(), 4, tmp_path, resume=True, log=said.append)
    assert trainings.asked == [("seed-2", True), ("seed-3", True), ("seed-4", True)]
    assert "run 1 of 4: seed-1 is finished" in said and len(whole["runs"]) == 4
    trainings.asked.clear()
    repeats.repeat(recipe("seq2seq", "training.steps=6"), 2, tmp_path, resume=True)
    assert trainings.asked == [("seed-1", True), ("seed-2", True)]


def test_a_loss_that_is_not_finite_ends_one_run(trainings, tmp_path):
    usual = trainings.scores
    trainings.scores = lambda one: FloatingPointError("the loss became nan") if one.training.seed == 1 else usual(one)
    summary = repeats.repeat(recipe(), 3, tmp_path)
    assert summary["runs"][0] == {"run": "seed-1", "failed": "the loss became nan"}
    assert summary["valid"]["nll"]["mean"] == pytest.approx((1 + 2 / 3) / 2)
    assert table(summary).splitlines()[1].split() == ["seed-1", "failed"]
    trainings.scores = lambda one: FloatingPointError("the loss became nan")
    with pytest.raises(FloatingPointError, match="no run of the series has a finite loss: the loss became nan"):
        repeats.repeat(recipe(), 2, tmp_path / "other")


@pytest.fixture
def mine(tmp_path):
    """The file of a recipe."""
    path = tmp_path / "mine.toml"
    path.write_text(recipes.dumps(recipe()))
    return path


RATES = "training.learning_rate=0.001,0.003,0.01"


@pytest.mark.parametrize("name", ["data.json", "checkpoint/mine.h5", "summary.json"])
def test_a_sweep_leaves_the_files_of_others_alone(trainings, mine, tmp_path, name):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).touch()
    with pytest.raises(ValueError, match=f"is no run, and holds {name.partition('/')[0]}, which a training would wri"):
        repeats.search(repeats.sweep(mine, [RATES]), tmp_path)
    assert (tmp_path / name).is_file() and not trainings.asked


def test_a_sweep_keeps_the_best(trainings, mine, tmp_path):
    trainings.scores = by_rate(0.004)
    out = tmp_path / "out"
    summary = repeats.search(repeats.sweep(mine, [RATES]), out)
    assert summary["best"] == "learning_rate=0.003" and summary["monitor"] == "nll"
    assert recipes.load(out / "recipe.toml").training.learning_rate == 0.003
    assert sorted(path.name for path in (out / "tried").iterdir()) == [
        f"learning_rate={x}" for x in ("0.001", "0.003", "0.01")
    ]
    assert [path.name for path in (out / "best").iterdir()] == ["learning_rate=0.003.npz"]
    assert " *" in table(summary).splitlines()[2]
    with pytest.raises(ValueError, match="holds a run already. Continue a sweep with --resume"):
        repeats.search(repeats.sweep(mine, [RATES]), out)
    trainings.asked.clear()
    (out / "scores.json").write_text("{}")
    repeats.search(repeats.sweep(mine, [RATES]), out, resume=True)
    assert (out / "scores.json").exists() and not trainings.asked
    trainings.scores = lambda one: {"nll": 0.0, "accuracy": 1.0}
    more = repeats.search(repeats.sweep(mine, [RATES + ",0.05"]), out, resume=True)
    assert trainings.asked == [("learning_rate=0.05", True)] and more["best"] == "learning_rate=0.05"
    assert [path.name for path in (out / "best").iterdir()] == ["learning_rate=0.05.npz"], "nothing of the former best"
    assert not (out / "scores.json").exists()


def test_a_copy_that_is_cut_is_no_finished_run(trainings, mine, tmp_path, monkeypatch):
    """Also where a former best was: never the recipe of one run beside the model of another."""
    out = tmp_path / "out"
    trainings.scores = by_rate(0.004)
    repeats.search(repeats.sweep(mine, [RATES]), out)
    assert (out / "model.keras").read_text() == "learning_rate=0.003"
    trainings.scores = lambda one: {"nll": 0.0, "accuracy": 1.0}
    with monkeypatch.context() as patch:
        patch.setattr("shutil.copyfile", lambda *paths, **more: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            repeats.search(repeats.sweep(mine, [RATES + ",0.05"]), out, resume=True)
    assert not (out / "model.keras").exists()
    more = repeats.search(repeats.sweep(mine, [RATES + ",0.05"]), out, resume=True)
    assert more["best"] == (out / "model.keras").read_text() == "learning_rate=0.05"


@pytest.mark.slow
def test_the_best_is_the_one_of_the_monitor_and_never_nan(trainings, mine, tmp_path):
    trainings.scores = by_rate(0.004)
    trials = repeats.sweep(mine, [RATES], ["training.monitor=accuracy"])
    assert repeats.search(trials, tmp_path / "one")["best"] == "learning_rate=0.01"
    trainings.scores = lambda one: {"nll": math.nan if one.training.learning_rate < 0.002 else 5.0, "accuracy": 0.5}
    assert repeats.search(repeats.sweep(mine, [RATES]), tmp_path / "two")["best"] == "learning_rate=0.003"


def test_every_combination_is_tried(mine):
    trials = repeats.sweep(mine, ["model.cell=gru,lstm", "attention=dot,none", "training.steps=8"])
    assert [trial.name for trial in trials] == [
        f"cell={cell},attention={attention},steps=8" for cell in ("gru", "lstm") for attention in ("dot", "none")
    ]
    assert {(each.recipe.model.cell, each.recipe.attention.layer) for each in trials} == {
        ("gru", "dot"),
        ("gru", "none"),
        ("lstm", "dot"),
        ("lstm", "none"),
    }


@pytest.mark.release(but=1)
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,2", ["1", "2"]),
        ("a, b ,c", ["a", "b", "c"]),
        ("[4,8],16", ["[4,8]", "16"]),
        ('{a = 1, b = 2},{c = "x,y"}', ["{a = 1, b = 2}", '{c = "x,y"}']),
        ("'a,b',c", ["'a,b'", "c"]),
    ],
)
def test_values_have_a_comma_between_them(text, expected):
    assert repeats.split_values(text) == expected


@pytest.mark.release(but=1)
@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (["training.learning_rte=1,2"], "no setting 'learning_rte'. Did you mean 'learning_rate'"),
        (["trainin.steps=1,2"], "unknown setting 'trainin.steps'.*Did you mean"),
        (["training.steps"], "expected table.key=value,value"),
        (["training.steps="], "expected table.key=value,value"),
        (["training.steps=5,,6"], "one comma between them"),
        (["training.steps=5,0"], "training.steps must be a whole number of at least 1; received 0"),
        (["training.steps=5,5"], "the sweep has steps=5 twice"),
        (["training.learning_rate=0.001,1e-3"], "the sweep has learning_rate=1e-3 twice"),
        (["name=a,b"], "the sweep has name=b twice"),
        (["training.monitor=nll,accuracy"], "cannot compare runs of different ones"),
        (["training.seed=1,2,3,4,5,6,7,8,9,10,11", "training.steps=1,2,3,4,5,6,7,8,9,10"], "this one would have 110"),
    ],
)
def test_a_wrong_sweep_is_refused(asked, message, mine):
    with pytest.raises(ValueError, match=message):
        repeats.sweep(mine, asked)


@pytest.mark.release(but=1)
@pytest.mark.parametrize("count", [0, 101])
def test_wrong_numbers_of_seeds_are_refused(count):
    with pytest.raises(ValueError, match="a series has from 1 to 100 runs"):
        repeats.seed_trials(recipe(), count)


def test_a_series_is_not_put_into_a_run(trainings, tmp_path):
    (tmp_path / "recipe.toml").write_text(recipes.dumps(recipe()))
    with pytest.raises(ValueError, match="holds a run. Choose another --out for the 2 runs"):
        repeats.repeat(recipe(), 2, tmp_path, resume=True)


@pytest.mark.release(but=1)
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--seeds", "0"], "argument --seeds: expected a whole number of at least 1, received '0'"),
        (["--sweep", "training.stepps=1,2"], "Did you mean 'steps'?"),
        (["--seeds", "2", "--sweep", "training.steps=1,2"], "--seeds and --sweep are two kinds of series"),
    ],
)
def test_nonsense_is_refused_before_keras_is_imported(words, message, mine):
    code = f"import sys; sys.argv[1:] = {['train', str(mine), *words]!r}; from tools.cli import main\n"
    code += "try:\n    status = main()\nexcept SystemExit as end:\n    status = end.code\n"
    code += "print(status, 'keras' in sys.modules)"
    done = python("-c", code)
    assert done.stdout.split() == ["2", "False"] and message in done.stderr


@pytest.mark.release
def test_a_seed_of_a_series_is_the_run_of_that_seed(mine, tmp_path):
    """Bit for bit, although other runs were trained before it in the same process; and Keras forgets them."""
    summary = repeats.repeat(recipe(), 2, tmp_path / "series")
    runs.train(recipe("seq2seq", "training.seed=2"), tmp_path / "alone")
    one, other = (
        keras.models.load_model(path / "model.keras", compile=False).get_weights()
        for path in (tmp_path / "series/seed-2", tmp_path / "alone")
    )
    for left, right in zip(one, other, strict=True):
        np.testing.assert_array_equal(left, right)
    alone = json.loads((tmp_path / "alone/training.json").read_text())
    assert summary["runs"][1]["valid"] == alone["valid"]


@pytest.mark.release
def test_a_sweep_from_the_command_line(mine, tmp_path):
    words = [str(mine), "--sweep", "training.learning_rate=0.0001,0.05", "--set", "training.steps=2"]
    done = python("-m", "tools.cli", "train", *words, cwd=tmp_path)
    assert "run 2 of 2: learning_rate=0.05" in done.stderr
    assert done.stdout.splitlines()[-1] == "runs/small: learning_rate=0.05, the best by nll"
    assert recipes.check_run(tmp_path / "runs/small").training.learning_rate == 0.05
