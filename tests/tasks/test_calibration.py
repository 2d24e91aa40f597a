"""What a validation makes of a trained model: its probabilities are scaled, and a tagger's readout is balanced."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

from tests.tasks import runs
from zoo import recipes
from zoo.runs import open_run
from zoo.scores import calibration_error, fit_temperature
from zoo.scores.transitions import likeliest
from zoo.tasks import TASKS
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


@pytest.mark.slow
@pytest.mark.release(but=1)
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


LABELS = ("B-A", "I-A", "O")


def sentences(shift, monitor="entity_f1", count=120):
    """A run that is asked how to balance its readout, and logits of sentences in which O has `shift` too much."""
    draws = np.random.default_rng(4)
    texts = []
    for _ in range(count):
        first = draws.integers(0, 5)
        labels = np.full(7, 2)
        labels[first : first + 2] = 0, 1
        logits = 3 * np.eye(3)[labels] + draws.normal(0, 1, (7, 3)) + [0, 0, shift]
        texts.append((logits.astype("float32"), labels))
    training = SimpleNamespace(monitor=monitor)
    return SimpleNamespace(labels=LABELS, recipe=SimpleNamespace(training=training)), texts


def entities(ids):
    """(first, last) of each "B-A I-A*", found otherwise than by the library."""
    return {match.span() for match in re.finditer("01*", "".join(map(str, ids)))}


@pytest.mark.parametrize("shift", [0, 2.5, 3.5, -0.5])
def test_an_outside_that_is_too_likely_is_lowered(shift):
    run, texts = sentences(shift)
    added, measured = TASKS["tag"].balance(run, texts)
    assert not added[:2].any()
    assert abs(added[2] + shift) <= 1
    if added[2]:
        assert measured["balance"]["added"] == added[2]
        allowed = TASKS["tag"].transitions(LABELS)
        outputs = [entities(likeliest(logits + added, allowed)) for logits, _ in texts]
        right = [entities(labels) for _, labels in texts]
        both = sum(len(one & other) for one, other in zip(outputs, right, strict=True))
        f1 = 200 * both / sum(map(len, outputs + right))
        assert measured["balance"]["entity_f1"] == pytest.approx(f1)
        assert f1 > measured["balance"]["entity_f1_before"]


@pytest.mark.parametrize("change", [{"monitor": "accuracy"}, {"count": 49}])
def test_tags_that_do_not_decide_and_few_sentences_leave_it(change):
    run, texts = sentences(3, **change)
    added, measured = TASKS["tag"].balance(run, texts)
    assert not added.any()
    assert not measured


@pytest.mark.slow
def test_a_balanced_tagger_answers_as_it_was_measured(tmp_path):
    lines = [f"ada saw {each}\tB-A O O" for each in ("ann", "bob", "sea")] * 40
    (tmp_path / "names.tsv").write_text("".join(f"{line}\n" for line in lines))
    own = {
        "data": {"corpus": "files", "columns": {"words": 1, "tags": 2}}
        | {split: str(tmp_path / "names.tsv") for split in ("train", "valid", "test")},
        "training": {"monitor": "entity_f1"},
    }
    one = open_run(runs.write(recipes.make({"name": "names", "task": "tag"} | runs.READER | own), tmp_path / "run"))
    one.model.readout.bias.assign([0.0, 3.0])
    examples = one.recipe.job.read(one.recipe, "valid")
    assert one.recipe.job.evaluate(one, examples).scores["entity_f1"] == 0
    measured = one.recipe.job.calibrate(one, examples)["balance"]
    assert measured["added"] < 0 < measured["entity_f1"]
    assert one.recipe.job.evaluate(one, examples).scores["entity_f1"] == pytest.approx(measured["entity_f1"])


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
