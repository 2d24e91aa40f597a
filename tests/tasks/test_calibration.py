"""What a validation makes of the probabilities of a trained model: they are scaled, and no answer changes."""

import numpy as np
import pytest

from tests.tasks import runs
from zoo.runs import open_run
from zoo.scores import calibration_error, fit_temperature
from zoo.training.steps import model_inputs


def probabilities(run, inputs):
    """Of the labels of each text, or word, in the order of the batches."""
    batches = run.recipe.job.batches(run.recipe, run.tokenizers, run.labels, inputs)
    logits, labels = [], []
    for batch in batches:
        there = batch["weights"] > 0
        logits.append(np.asarray(run.model(model_inputs(batch)))[there])
        labels.append(batch["labels"][there])
    return np.concatenate(logits), np.concatenate(labels)


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("task", ["classify", "compare", "tag"])
def test_logits_are_divided_by_the_temperature_of_the_validation(task, tmp_path):
    one = open_run(runs.write(runs.recipe(task, tmp_path), tmp_path / "run"))
    job = one.recipe.job
    inputs, answers = job.read(one.recipe, "train")
    examples = inputs * 2, answers * 2
    before, labels = probabilities(one, examples)
    answered, *_ = job.predict(one, inputs)
    found = job.calibrate(one, examples)
    assert found["temperature"] == pytest.approx(fit_temperature(before, labels), rel=1e-4)
    assert abs(found["temperature"] - 1) > 0.01
    after, _ = probabilities(one, examples)
    np.testing.assert_allclose(after * found["temperature"], before, atol=1e-5)
    assert job.predict(one, inputs)[0] == answered


def test_a_few_labels_say_nothing(tmp_path):
    one = open_run(runs.write(runs.recipe("classify", tmp_path), tmp_path / "run"))
    before = one.model.get_weights()
    assert one.recipe.job.calibrate(one, one.recipe.job.read(one.recipe, "valid")) is None
    assert all(np.array_equal(*pair) for pair in zip(before, one.model.get_weights(), strict=True))


def test_evaluation_says_how_far_confidences_can_be_believed(tmp_path):
    one = open_run(runs.write(runs.recipe("classify", tmp_path), tmp_path / "run"))
    inputs, answers = one.recipe.job.read(one.recipe, "train")
    found = one.recipe.job.evaluate(one, (inputs, answers))
    right = [one == other for one, other in zip(found.outputs, answers, strict=True)]
    assert found.scores["calibration_error"] == pytest.approx(calibration_error(found.confidences, right))
