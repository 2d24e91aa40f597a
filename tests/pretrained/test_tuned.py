"""Networks of others are runs like any other: they open, say what they are, are tuned, resume, export and verify."""

import json
from pathlib import Path

import numpy as np
import pytest

import zoo
from tests.recipes.test_beginning import NETWORKS, labelled
from tests.runs.test_lora import interrupted, weights
from tools import cli
from zoo import runs
from zoo.recipes.files import load

STEPS = 100


@pytest.mark.release
@pytest.mark.parametrize(
    ("task", "network", "more"),
    [("translate", "marian", []), ("translate", "marian", ["training.lora=2"]), ("embed", "minilm", [])],
)
def test_a_network_is_tuned_and_resumes_and_is_exported(task, network, more, tmp_path, capsys):
    folder, out = tmp_path / "network", tmp_path / "mine.toml"
    assert cli.main(["import", str(NETWORKS / network), "--out", str(folder)]) == 0
    own = [f"--set={each}" for each in more]
    assert cli.main(["new", task, str(labelled(tmp_path, task)), "--from", str(folder), "--out", str(out), *own]) == 0
    one = load(out, [f"training.steps={STEPS}", f"training.validate_every={STEPS // 2}", "training.num_buckets=1"])
    runs.train(one, tmp_path / "whole")
    whole, begun = weights(tmp_path / "whole"), weights(folder)
    assert any(np.abs(whole[path] - begun[path]).max() > 1e-3 for path in whole)
    if task == "translate":
        assert interrupted(one, tmp_path / "parts", at=STEPS // 2 + 7) == STEPS // 2 + 7
        runs.train(one, tmp_path / "parts", resume=True)
        parts = weights(tmp_path / "parts")
        assert {path for path in whole if np.array_equal(whole[path], parts[path])} == set(whole)
    assert cli.main(["export", str(tmp_path / "whole"), "--out", str(tmp_path / "artefacts")]) == 0
    (artefact,) = (tmp_path / "artefacts").glob("*/1")
    assert cli.main(["verify", str(artefact)]) == 0


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
