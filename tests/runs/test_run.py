"""A recipe becomes a run: trained, saved, opened again, resumed, used; for other models see test_kinds.py."""

import json
import shutil
from types import SimpleNamespace

import numpy as np
import pytest

from tests.recipes.small import recipe
from tests.shared import python
from zoo import recipes, runs
from zoo.core import array_files
from zoo.recipes import folder
from zoo.runs import training
from zoo.tasks.parts import corpora
from zoo.tasks.parts.building import build_model
from zoo.training import MONITORS, TrainingState, average, checkpoint_path

CODE = """
import pathlib, sys

class NoTensorFlow:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("tensorflow", "tensorflow_text"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, NoTensorFlow())
from tests.recipes.small import recipe, write_corpus
from zoo import recipes, runs

one, here = recipe(sys.argv[1], training={"validate_every": 4}), pathlib.Path(sys.argv[2])
data = write_corpus(one, here / "data")
runs.train(one, here / "run", data)
print(len(runs.evaluate(runs.open_run(here / "run"), "test", data, limit=5)[1]))
assert "tensorflow" not in sys.modules
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    directory = tmp_path_factory.mktemp("run") / "small"
    return directory, runs.train(recipe(), directory)


def weights(model):
    return [np.array(variable.value, copy=None) for variable in model.trainable_variables]


@pytest.mark.slow
def test_the_directory_is_complete(run):
    directory, summary = run
    files = {path.name for path in directory.iterdir()}
    assert files >= {
        *("recipe.toml", "source.spm", "target.spm", "checkpoint"),
        *("metrics.csv", "model.keras", "training.json"),
    }
    assert not [name for name in files if "partial" in name]
    assert recipes.load(directory / "recipe.toml") == recipe()
    assert json.loads((directory / "training.json").read_text()) == summary
    assert summary["steps"] == 4 and summary["parameters"] > 0
    assert summary["data_sha256"] == corpora.digest(*recipes.read(recipe(), "train"))


@pytest.mark.slow
def test_the_model_is_the_average_of_the_best_if_that_is_better(run):
    directory, summary = run
    run = runs.open_run(directory)
    fresh = build_model(run.recipe.job, recipe(), *(each.vocab_size for each in run.tokenizers))
    steps = [4, 2][: summary["valid"]["averaged"]]
    held = array_files.read(checkpoint_path(directory))
    average(
        [{name: held[f"best/{step:08d}/{name}"] for name in held if name.startswith("model/")} for step in steps], fresh
    )
    for one, other in zip(weights(run.model), weights(fresh), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.slow
def test_translations_come_in_order_whatever_the_batches(run):
    opened = runs.open_run(run[0])
    sentences, _ = recipes.read(recipe(), "test")
    done = []
    outputs = runs.translate(opened, sentences, batch_size=4, progress=done.append)
    assert done == [4, 8, 11] and len(outputs) == 11
    alone = runs.translate(opened, sentences[5:6], batch_size=4)
    assert alone == outputs[5:6]
    assert all(len(output.split()) <= 6 for output in outputs)


@pytest.mark.slow
def test_a_run_is_not_overwritten_nor_continued_with_other_settings(run, tmp_path):
    summary, directory = run[1], shutil.copytree(run[0], tmp_path / "copy")
    with pytest.raises(ValueError, match="holds a run already. Continue it with --resume"):
        runs.train(recipe(), directory)
    with pytest.raises(ValueError, match=r"other settings: model.units \(5 there, 7 here\)"):
        runs.train(recipe(model={"units": 7}), directory, resume=True)
    answers = [directory / name for name in ("scores.json", "test.outputs.json", "test.mine.outputs.json")]
    for path in answers:
        path.write_text("{}")
    assert runs.train(recipe(), directory, resume=True)["steps"] == 4 and all(path.exists() for path in answers)
    longer = runs.train(recipe(training={"steps": 6}), directory, resume=True)
    assert not any(path.exists() for path in answers), "they are of another model"
    assert longer["steps"] == 6 and longer["data_sha256"] == summary["data_sha256"]


def test_what_is_no_run_is_refused(tmp_path):
    with pytest.raises(ValueError, match="is not a finished run: it lacks recipe.toml"):
        runs.open_run(tmp_path)
    (tmp_path / "recipe.toml").write_text(recipes.dumps(recipe("tagger")))
    with pytest.raises(ValueError, match="it lacks model.keras, source.spm, labels.json. Finish it with"):
        runs.open_run(tmp_path)


@pytest.mark.parametrize("name", ["labels.json", "scope.json", "data.json", "training.json"])
@pytest.mark.parametrize("content", ["garbage", "3", '["a", null]', ""])
def test_a_damaged_file_of_a_run_is_named(name, content, tmp_path):
    """The message was Python's alone: "Expecting value: line 1 column 1 (char 0)"."""
    (tmp_path / "recipe.toml").write_text(recipes.dumps(recipe("tagger")))
    (tmp_path / name).write_text(content)
    ask = {
        "labels.json": lambda: folder.read_labels(tmp_path),
        "scope.json": lambda: folder.read_threshold(tmp_path),
        "data.json": lambda: folder.check_same_data(tmp_path, {"sha256": {}}),
        "training.json": lambda: folder.claim(recipe("tagger"), tmp_path, True),
    }
    with pytest.raises(ValueError, match=f"{name} of .* is damaged: .*. Copy the run again, or train it again."):
        ask[name]()


def test_a_damaged_model_is_told(tmp_path):
    (tmp_path / "recipe.toml").write_text(recipes.dumps(recipe()))
    for name in ("model.keras", "source.spm", "target.spm"):
        (tmp_path / name).touch()
    with pytest.raises(ValueError, match=r"model.keras is damaged: expected a file that Keras has saved. Copy the run"):
        runs.open_run(tmp_path)


@pytest.mark.parametrize(("of_average", "averaged"), [(2.0, 2), (4.0, 1), (float("nan"), 1)])
def test_an_average_that_is_worse_or_not_a_number_is_not_chosen(monkeypatch, of_average, averaged):
    state = TrainingState(step=2, best=[[3.0, 1], [3.5, 2]], weights={2: "of 2", 1: "of 1"})
    state.history = [{"step": step, "nll": nll, "accuracy": 0.5} for nll, step in state.best]
    steps, loaded = SimpleNamespace(model=None, reload=lambda: None, evaluate=None), []
    monkeypatch.setattr("zoo.training.average", lambda weights, model: loaded.append(weights))
    measure = lambda: {"nll": of_average, "accuracy": 0.5}  # noqa: E731
    monkeypatch.setattr("zoo.training.set_weights", lambda model, weights: loaded.append(weights))
    scores = training._choose_weights(steps, measure, state, MONITORS["nll"])
    assert scores == {"nll": of_average if averaged == 2 else 3.0, "accuracy": 0.5, "averaged": averaged}
    assert loaded == [["of 1", "of 2"]] + ([] if averaged == 2 else ["of 1"])


def test_without_a_validation_the_weights_of_the_last_step_stay():
    scores = training._choose_weights(
        SimpleNamespace(model=None), lambda: {"nll": 5.0}, TrainingState(), MONITORS["nll"]
    )
    assert scores == {"nll": 5.0, "averaged": 0}


@pytest.mark.release
@pytest.mark.parametrize("model", ["seq2seq", "tagger"])
def test_jax_needs_no_tensorflow(model, tmp_path):
    assert python("-c", CODE, model, tmp_path, KERAS_BACKEND="jax").stdout.strip() == "5"
