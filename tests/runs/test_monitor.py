"""`training.monitor = "wer"`: the best weights are those with the fewest wrong outputs of a greedy search."""

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


@pytest.mark.slow
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
