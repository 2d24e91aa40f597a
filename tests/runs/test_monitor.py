"""Scores of whole answers that choose the weights: wrong outputs of a greedy search, and F1 of entities."""

import json

import pytest

from zoo import recipes, runs


def settings(**training):
    return {
        "name": "turned",
        "task": "transduce",
        "data": {"corpus": "reversal", "train_size": 60, "valid_size": 9, "test_size": 5, "longest": 5},
        "text": {"vocab_size": 31, "pieces": "word", "target": {"vocab_size": 31, "pieces": "word"}},
        "model": {"kind": "recurrent", "units": 5},
        "search": {"beam": 1, "max_output_length": 7},
        "training": {"batch_size": 8, "num_buckets": 1, "steps": 4, "validate_every": 2, "average": 2} | training,
    }


@pytest.mark.release
def test_the_share_of_wrong_outputs_is_that_of_the_evaluation(tmp_path):
    one = recipes.make(settings(monitor="wer"))
    runs.train(one, tmp_path / "run")
    found = json.loads((tmp_path / "run" / "training.json").read_text())["valid"]["wer"]
    scores, _ = runs.evaluate(runs.open_run(tmp_path / "run"), "valid", beams=1)
    assert found == pytest.approx(scores["wer"])
    rows = (tmp_path / "run" / "metrics.csv").read_text().splitlines()
    assert "valid_wer" in rows[0].split(",")


def test_a_task_without_a_search_has_no_such_score():
    wrong = {"name": "read", "task": "classify", "data": {"corpus": "trec"}, "training": {"monitor": "wer"}}
    with pytest.raises(ValueError, match="training.monitor='wer' has no effect: .*does not search. Leave it out"):
        recipes.make(wrong)


def tagger(tmp_path, tags="B-A I-A O", others="O O O", **training):
    words = [["ada", "king", "sat"], ["ann", "lee", "ran"], ["a", "cat", "sat"], ["a", "dog", "ran"]]
    rows = [
        (f"{' '.join(each)} {number}", f"{tags if each[0] in ('ada', 'ann') else others} O")
        for number, each in enumerate(words * 12)
    ]
    (tmp_path / "words.tsv").write_text("text\ttags\n" + "".join(f"{text}\t{tag}\n" for text, tag in rows))
    own = {"batch_size": 8, "num_buckets": 1, "steps": 6, "validate_every": 3, "average": 2} | training
    return {
        "name": "names",
        "task": "tag",
        "data": {"corpus": "files", "train": str(tmp_path / "words.tsv"), "valid_share": 0.25, "test_share": 0.2},
        "text": {"vocab_size": 40, "pieces": "word"},
        "model": {"kind": "recurrent", "units": 8},
        "training": own,
    }


@pytest.mark.slow
def test_the_f1_of_entities_is_that_of_the_evaluation(tmp_path):
    runs.train(recipes.make(tagger(tmp_path, monitor="entity_f1")), tmp_path / "run")
    found = json.loads((tmp_path / "run" / "training.json").read_text())["valid"]["entity_f1"]
    run = runs.open_run(tmp_path / "run")
    scores, answers = runs.evaluate(run, "valid")
    assert found == pytest.approx(scores["entity_f1"])
    assert "valid_entity_f1" in (tmp_path / "run" / "metrics.csv").read_text().splitlines()[0].split(",")
    run.model.readout.bias.assign([0.0, 9.0, 0.0])  # I-A is the likeliest tag of every word
    for tags in run.recipe.job.predict(run, ["ada king sat 3", "a"])[0]:
        assert tags.split(" ")[0] == "B-A" or tags == "O"


@pytest.mark.slow
def test_entities_that_are_none_cannot_choose(tmp_path):
    with pytest.raises(ValueError, match="spell none"):
        runs.train(recipes.make(tagger(tmp_path, "N V V", "D V V", monitor="entity_f1")), tmp_path / "run")


def test_only_tags_spell_entities():
    wrong = {"name": "read", "task": "classify", "data": {"corpus": "trec"}, "training": {"monitor": "entity_f1"}}
    with pytest.raises(ValueError, match="training.monitor='entity_f1' has no effect: .*does not tag. Leave it out"):
        recipes.make(wrong)
