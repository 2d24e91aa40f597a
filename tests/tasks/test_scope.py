"""Texts that are out of a classifier's scope: learnt as a label, or told by a threshold that validation chooses."""

import dataclasses
import json
import shutil

import numpy as np
import pytest

from tests.tasks import runs
from tools import cli
from zoo import recipes, scores
from zoo.recipes import evaluations
from zoo.runs import evaluation, open_run, train
from zoo.text import EOS

OUT = [f"{word} {number}" for number in range(3) for word in ("tell", "why", "who", "when")]  # nobody trains on these


def write_files(folder, out_in_valid=True):
    """A recipe's `[data]`: the lines of a classifier, and texts out of scope in files of their own, as CLINC150 has."""
    lines, others = runs.lines("classify"), [f"{text}\toos" for text in OUT]
    parts = {"train": (lines, others), "valid": (lines[:12], others[:5] * out_in_valid), "test": (lines[:9], others)}
    names = {}
    for split, sides in parts.items():
        paths = [folder / f"{split}.tsv", folder / f"oos_{split}.tsv"]
        for path, side in zip(paths, sides, strict=True):
            path.write_text("".join(f"{line}\n" for line in side))
        names[split] = [str(path) for path, side in zip(paths, sides, strict=True) if side]
    return names | {"columns": {"text": 1, "label": 2, "header": False}}


def recipe(folder, out_in_valid=True, **scope):
    settings = {"name": "small", "task": "classify", **runs.READER, "data": write_files(folder, out_in_valid)}
    return recipes.make(settings | {"scope": {"label": "oos"} | scope})


def probabilities(run, text):
    """The model's answer to one text, alone and unpadded."""
    ids = np.array([[*run.tokenizers[0].encode([text])[0], EOS]], "int32")
    logits = np.asarray(run.model({"token_ids": ids, "lengths": np.array([ids.size], "int32")}), "float64")[0]
    return np.exp(logits) / np.exp(logits).sum()


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    folder = tmp_path_factory.mktemp("threshold")
    return open_run(runs.write(recipe(folder), folder / "run"))


@pytest.mark.slow
def test_the_threshold_is_the_best_of_the_validation(opened):
    inputs, answers = opened.recipe.job.read(opened.recipe, "valid")
    found = [probabilities(opened, text) for text in inputs]

    def right(threshold):
        outputs = [opened.labels[each.argmax()] if each.max() >= threshold else "oos" for each in found]
        return sum(one == other for one, other in zip(outputs, answers, strict=True))

    assert opened.labels == ("air", "fire", "water")  # out of scope is no label that is learnt
    assert 0 <= opened.threshold < 1
    assert right(opened.threshold) == max(right(threshold) for threshold in np.linspace(0, 1, 5001))


@pytest.mark.slow
def test_an_artefact_has_the_scores_of_its_run(opened, tmp_path, capsys):
    """It was refused for want of labels.json and scope.json, which its manifest holds."""
    run, folder = opened.directory, tmp_path / "artefact"
    shutil.copytree(run, folder)
    for name in ("labels.json", "scope.json"):
        (folder / name).unlink()
    manifest = {"labels": list(opened.labels), "scope": {"label": "oos", "threshold": opened.threshold}}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    found = []
    for each in (run, folder):
        assert cli.main(["evaluate", str(each), "--json"]) == 0
        found.append(json.loads(capsys.readouterr().out) | {"seconds": 0})
    assert found[0] == found[1] and "in_scope_accuracy" in found[1]


@pytest.mark.slow
def test_a_text_below_the_threshold_is_out_of_scope(opened):
    texts = runs.TEXTS[:6] + OUT
    found = [probabilities(opened, text) for text in texts]
    middle = between([each.max() for each in found])
    run = dataclasses.replace(opened, threshold=middle)
    outputs, confidences, _ = run.recipe.job.predict(run, texts)
    assert outputs == [run.labels[each.argmax()] if each.max() >= middle else "oos" for each in found]
    expected = [each.max() if each.max() >= middle else 1 - each.max() for each in found]
    np.testing.assert_allclose(confidences, expected, atol=1e-5)
    assert "oos" in outputs and set(outputs) - {"oos"}


def between(confidences):
    """A threshold that lies far from every confidence, with some of them on each side."""
    ranked = np.sort(confidences)
    place = np.argmax(np.diff(ranked))
    assert ranked[place + 1] - ranked[place] > 1e-3
    return float(ranked[place : place + 2].mean())


@pytest.mark.slow
def test_recall_and_accuracy_in_scope_have_intervals(opened):
    found = evaluation(opened, "test")
    own = scores.out_of_scope(found.outputs, found.references)
    assert found.scores["count"] == 9 + len(OUT) and found.scores["out_of_scope"] == len(OUT)
    assert found.scores["threshold"] == opened.threshold
    for name in ("out_of_scope_recall", "in_scope_accuracy", "accuracy"):
        assert found.scores[name] == own[name] and found.scores[f"{name}_interval"] == own[f"{name}_interval"]
    evaluations.write(opened.directory, opened.recipe, "test", found)
    again = evaluations.read(opened.directory, "test")
    assert (again["scored_by"], again["options"]) == ("out_of_scope", {"label": "oos"})
    assert again["outputs"] == found.outputs


@pytest.mark.slow
def test_texts_in_scope_alone_have_the_scores_of_a_classifier(opened, tmp_path):
    path = tmp_path / "known.tsv"
    path.write_text("".join(f"{line}\n" for line in runs.lines("classify")[:8]))
    found = evaluation(opened, "test", path)
    assert "accuracy" in found.scores and "out_of_scope_recall" not in found.scores
    assert opened.recipe.job.choose_scoring(opened.recipe, found.references) == ("classification", {})


@pytest.mark.slow
def test_the_label_may_be_learnt_like_the_others(tmp_path):
    one = recipe(tmp_path, threshold=False, trained=True)
    run = open_run(runs.write(one, tmp_path / "run"))
    assert run.labels == ("air", "fire", "oos", "water") and run.threshold is None
    assert "out_of_scope_recall" in evaluation(run, "test").scores
    assert len(one.job.examples(one, "train")) == 40 + len(OUT)


def test_what_is_left_out_of_the_training_is_told(tmp_path):
    one = recipe(tmp_path)
    found = one.job.examples(one, "train")
    assert len(found) == 40 and "oos" not in found.answers
    assert found.notes[-1] == "texts out of scope ('oos'), which are not learnt: 12"
    assert len(one.job.examples(one, "valid")) == 17


def test_without_a_text_out_of_scope_no_threshold_is_chosen(tmp_path, capsys):
    one = recipe(tmp_path, out_in_valid=False)
    (tmp_path / "mine.toml").write_text(recipes.dumps(one))
    assert cli.main(["train", str(tmp_path / "mine.toml"), "--out", str(tmp_path / "run")]) == 2
    error = capsys.readouterr().err
    assert "labelled 'oos'; it holds 12 and 0. Name such a file with data.valid" in error
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("scope", "message"),
    [
        (
            {"label": "oos", "threshold": False},
            "no text would ever be 'oos': set threshold=true, trained=true, or both",
        ),
        ({"label": "", "trained": True}, "trained=True has no effect: it is read where label names"),
        ({"lable": "oos"}, "Did you mean 'label'"),
    ],
)
def test_settings_without_effect_are_refused(tmp_path, scope, message):
    settings = {"name": "small", "task": "classify", **runs.READER, "data": write_files(tmp_path)}
    with pytest.raises(ValueError, match=message):
        recipes.make(settings | {"scope": scope})
    with pytest.raises(ValueError, match=r"\[scope\] has no place in this recipe"):
        recipes.make({"name": "small", "task": "compare", **runs.READER, "scope": {"label": "oos"}})


@pytest.mark.slow
def test_training_chooses_and_every_form_answers_alike(tmp_path):
    from serving.export import export_run
    from serving.runtime import Runtime

    training = {"steps": 20, "validate_every": 10, "batch_size": 8, "num_buckets": 1}
    one = recipes.make(recipes.recipe.plain(recipe(tmp_path)) | {"training": training})
    summary = train(one, tmp_path / "run")
    run = open_run(tmp_path / "run")
    assert json.loads((tmp_path / "run" / "scope.json").read_text()) == {"label": "oos", "threshold": run.threshold}
    assert summary["threshold"] == run.threshold

    texts = runs.TEXTS[:6] + OUT
    found = [probabilities(run, text).max() for text in texts]
    run = dataclasses.replace(run, threshold=between(found))
    artefact = export_run(run, tmp_path / "artefacts", texts=texts)  # compares Keras, SavedModel and ONNX
    expected, confidences, _ = run.recipe.job.predict(run, texts)
    assert "oos" in expected and set(expected) - {"oos"}
    answers = Runtime(artefact).run(texts)
    assert [answer.label for answer in answers] == expected
    assert [answer.confidence for answer in answers] == pytest.approx(confidences, abs=1e-5)
    assert [max(answer.probabilities.values()) for answer in answers] == pytest.approx(found, abs=1e-5)
    assert not any("oos" in answer.probabilities for answer in answers)
    manifest = json.loads((artefact / "manifest.json").read_text())
    assert manifest["scope"] == {"label": "oos", "threshold": run.threshold} and "oos" not in manifest["labels"]
    served = saved_model(artefact, texts)
    assert served == expected
    assert cli.main(["verify", str(artefact)]) == 0


def saved_model(folder, texts):
    """The labels of the SavedModel's signature for texts."""
    import tensorflow as tf
    import tensorflow_text  # noqa: F401  its operations

    loaded = tf.saved_model.load(str(folder))
    return [label.decode() for label in loaded.signatures["serving_default"](text=tf.constant(texts))["label"].numpy()]
