"""An import is a run: it opens, and says what it is."""

import json
from pathlib import Path

import numpy as np
import pytest

import zoo
from tools import cli

DATA = Path(__file__).with_name("data")
TASKS = {"marian": "translate", "t5": "translate", "gpt2": "continue", "bert": "classify", "bert_tagger": "tag"}
TASKS |= {"distilbert": "classify", "roberta": "classify", "xlm_roberta": "tag", "camembert": "tag"}
TASKS |= dict.fromkeys(("bart", "mbart", "m2m100", "nllb"), "translate") | {
    "albert": "classify",
    "reformer": "continue",
}


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("name", TASKS)
def test_a_run_opens_with_the_same_weights(name, tmp_path, capsys):
    assert cli.main(["import", str(DATA / name), "--out", str(tmp_path / "run"), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    run = zoo.open(tmp_path / "run")
    assert (run.recipe.task, run.recipe.name) == (TASKS[name], "run")
    assert record["parity"]["largest"] < 2e-6 and set(record["files"]) >= {"config.json", "model.safetensors"}
    model, ids = zoo.pretrained.load(DATA / name)
    for one, other in zip(model.get_weights(), run.model.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)
    assert all(each.vocab_size == len(ids) for each in run.tokenizers)
    assert run.labels == (("good", "bad", "neither") if run.recipe.job.labelled else ())
