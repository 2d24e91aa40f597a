"""Ratings: numbers are learnt in deviations, answered in the unit of the data, and alike in every form."""

import dataclasses
import json

import numpy as np
import pytest

import zoo
from serving import Runtime
from serving.export import export_run
from tests.tasks import runs
from tools import cli
from zoo import runs as zoo_runs
from zoo.tasks import TASKS
from zoo.tasks.rate import scale


@pytest.fixture(scope="module", params=["rate", "rate_pairs"])
def rated(request, tmp_path_factory):
    """(recipe, the folder of a run that was trained for a few steps)."""
    home = tmp_path_factory.mktemp(request.param)
    changes = {
        "loss": {"mean": 40.0, "deviation": 14.0},
        "training": {"steps": 8, "validate_every": 4, "batch_size": 8},
    }
    recipe = runs.recipe(request.param, home, **changes)
    zoo_runs.train(recipe, home / "run", log=lambda line: None)
    return recipe, home / "run"


def test_numbers_are_learnt_in_deviations_from_their_mean(tmp_path):
    recipe = runs.recipe("rate", tmp_path, loss={"mean": 40.0, "deviation": 10.0})
    texts, answers = recipe.job.read(recipe, "train")
    tokenizers = recipe.job.tokenizers(recipe, texts, answers)
    batches = recipe.job.batches(recipe, tokenizers, (), (texts, answers))
    found = {}
    for step, batch in enumerate(batches):
        assert batch["labels"].dtype == np.float32
        found |= dict(zip(batches.examples(step), batch["labels"].tolist(), strict=False))
    assert [found[row] for row in range(len(texts))] == [(float(answer) - 40) / 10 for answer in answers]


def test_a_new_recipe_knows_the_mean_and_the_deviation(tmp_path):
    recipe = runs.recipe("rate", tmp_path)
    examples = recipe.job.examples(recipe, "train")
    numbers = np.array(examples.answers, float)
    own = recipe.job.starter(examples)["loss"]
    assert own == {"mean": pytest.approx(numbers.mean(), rel=1e-3), "deviation": pytest.approx(numbers.std(), rel=1e-3)}
    far = dataclasses.replace(examples, answers=[f"{1_000_000 + number}" for number in numbers])
    off = recipe.job.starter(far)["loss"]["mean"] - 1_000_000 - numbers.mean()
    assert abs(off) <= 1e-3 * own["deviation"], "however far from 0 they lie"
    alike = dataclasses.replace(examples.take([0, 1, 2]), answers=["0.1"] * 3)  # numpy finds a deviation of 1e-17
    assert recipe.job.starter(alike)["loss"] == {"mean": 0.1, "deviation": 1.0}


@pytest.mark.slow
@pytest.mark.release(but=1)
def test_a_trained_run_answers_in_the_unit_of_the_data(rated):
    recipe, folder = rated
    run = zoo.open(folder)
    inputs, answers = recipe.job.read(recipe, "test")
    outputs, _ = recipe.job.predict(run, inputs)
    assert 30 < np.mean([float(each) for each in outputs]) < 50 or recipe.task == "rate_pairs"
    found = recipe.job.evaluate(run, (inputs, answers))
    errors = [abs(float(one) - float(other)) for one, other in zip(found.outputs, answers, strict=True)]
    assert found.scores["mae"] == pytest.approx(np.mean(errors)) and len(found.scores["mae_interval"]) == 2


@pytest.mark.slow
@pytest.mark.release(but=1)
def test_a_readout_that_goes_there_and_back_is_the_same(rated):
    recipe, folder = rated
    model = zoo.open(folder).model
    before = [weight.numpy() for weight in model.readout.weights]
    recipe.job.begin(recipe, model, ["readout/kernel", "readout/bias"])
    assert not np.allclose(model.readout.kernel.numpy(), before[0])
    scale(model.readout, recipe.loss.deviation, recipe.loss.mean)
    for weight, own in zip(model.readout.weights, before, strict=True):
        np.testing.assert_allclose(weight.numpy(), own, rtol=1e-4, atol=1e-4)


def test_a_refused_text_counts_as_the_mean(tmp_path):
    recipe = runs.recipe("rate", tmp_path, loss={"mean": 40.0, "deviation": 10.0})
    assert recipe.job.read_outputs([None, 1.5]) == ["", "1.5"]
    assert recipe.job.score(recipe, ["", "30", "55"], ["50", "30", "50"])["mae"] == 5.0


@pytest.mark.slow
@pytest.mark.release(but=1)
def test_all_forms_answer_alike(rated, tmp_path, capsys):
    recipe, folder = rated
    artefact = export_run(folder, tmp_path, texts=tuple(recipe.job.lines(recipe.job.read(recipe, "test")[0][:3])))
    inputs, _ = recipe.job.read(recipe, "test")
    lines, runtime = recipe.job.lines(inputs), Runtime(artefact, precision="float32")
    assert runtime.kind == "rate"
    expected, _ = recipe.job.predict(zoo.open(folder), inputs)
    results = runtime.run([*lines, ""])
    np.testing.assert_allclose([each.rating for each in results[:-1]], np.array(expected, float), rtol=1e-4, atol=1e-4)
    assert results[-1].rating is None and results[-1].error is None
    assert runtime.run(["undo " * 2_000])[0].error or recipe.task == "rate_pairs"
    capsys.readouterr()
    assert cli.main(["run", str(artefact), "--precision", "float32", "--json", lines[0]]) == 0
    assert json.loads(capsys.readouterr().out)["rating"] == pytest.approx(results[0].rating, rel=1e-5)


def test_both_tasks_are_there():
    assert (TASKS["rate"].kind, TASKS["rate_pairs"].kind) == ("rated", "scored")
