"""Every task is evaluated: each score with its interval, and the answers kept from which they can be computed again."""

import json

import pytest

from tests.tasks import runs
from tools import cli
from zoo import recipes, scores
from zoo.recipes import evaluations
from zoo.runs import evaluate, evaluation, open_run
from zoo.tasks import TASKS
from zoo.tasks.parts.building import build_model
from zoo.text import Tokenizer

EXPECTED = {  # what `seqzoo evaluate --json` promises
    "translate": {"bleu", "chrf", "ter", "exact_match"},
    "transduce": {"wer", "per", "exact_match"},
    "classify": {"accuracy", "macro_f1"},
    "compare": {"accuracy", "macro_f1"},
    "tag": {"accuracy"},
    "embed": {"spearman", "pearson"},
    "rate": {"mae", "spearman", "pearson"},
    "rate_pairs": {"mae", "spearman", "pearson"},
    "continue": {"nats_per_character", "bits_per_character", "bits_per_byte", "perplexity", "token_accuracy"},
}


QUICK = ("classify", "continue")  # the others are asked the same in the slow run
KNOWN = ["pay my bill now", "call my bank now", "pay the bank"] * 4
TEXTS = ["pay my bill", "pay zyx qqq vvv bill", "zyx qqq", "qqq", "pay 日本 zyx my 語 語", "bill zyx"]
STACK = {"model": {"kind": "transformer", **runs.STACK}, "text": {"vocab_size": 40}}
ADAPTIVE = {"depth": "depth_adaptive", "loss": {"kind": "depth_adaptive"}}


@pytest.fixture(
    scope="module", params=[each if each in QUICK else pytest.param(each, marks=pytest.mark.slow) for each in TASKS]
)
def evaluated(request, tmp_path_factory):
    """(the recipe, the run's folder, the object that was printed)."""
    home = tmp_path_factory.mktemp(request.param)
    one = runs.recipe(request.param, home)
    folder = runs.write(one, home / "run")
    found = evaluation(open_run(folder), "test")
    evaluations.write(folder, one, "test", found)
    return one, folder, found


@pytest.mark.release(but=1)
def test_each_score_has_an_interval(evaluated):
    one, _, found = evaluated
    names = {key.removesuffix("_interval") for key in found.scores if key.endswith("_interval")}
    assert names == EXPECTED[one.task] and json.loads(json.dumps(found.scores)) == found.scores
    for name in names:
        low, high = found.scores[f"{name}_interval"]
        assert low <= found.scores[name] <= high
    assert found.scores["count"] == (len(found.measured["nats"]) if one.task == "continue" else 9)


@pytest.mark.release(but=1)
def test_what_is_kept_gives_the_scores_again(evaluated):
    one, folder, found = evaluated
    own = evaluations.read(folder, "test")
    assert (own["task"], own["count"], own["scores"]["count"]) == (one.task, *[found.scores["count"]] * 2)
    if one.task == "continue":
        again = scores.language_model(own["nats"], own["characters"], own["bytes"])
        text = (folder.parent / "test.txt").read_text().rstrip("\n")
        assert sum(own["characters"]) == pytest.approx(len(text), abs=1) and "inputs" not in own
    else:
        again = getattr(scores, own["scored_by"])(own["outputs"], own["references"], **own["options"])
        inputs, answers = one.job.read(one, "test")
        assert [list(each) if isinstance(each, tuple) else each for each in inputs] == own["inputs"]
        assert answers == own["references"] and len(own["outputs"]) == 9
    assert {name: again[name] for name in again if name.endswith("_interval")} == {
        name: found.scores[name] for name in again if name.endswith("_interval")
    }


@pytest.mark.release(but=1)
def test_examples_are_grouped_by_length_or_label(evaluated):
    one, folder, found = evaluated
    lengths = evaluations.read(folder, "test")["lengths"]
    inputs = one.job.read(one, "test")[0]
    if one.task in ("translate", "tag"):
        assert lengths == [len(text.split()) for text in inputs]
    elif one.task == "transduce":
        assert lengths == [len(text) for text in inputs]  # it reads characters
        assert sum(row["sentences"] for row in found.scores["by_length"]) == 9
        assert {"wer", "per", "exact_match"} <= found.scores["by_length"][0].keys()
    else:
        assert lengths == []


@pytest.mark.slow
@pytest.mark.release(but=1)
def test_the_older_form_gives_scores_and_outputs(evaluated):
    one, folder, found = evaluated
    scored, outputs = evaluate(open_run(folder), "test", limit=8)
    assert scored["count"] <= 8
    if one.task in ("rate", "rate_pairs"):  # the last digit depends on the batch
        assert list(map(float, outputs)) == pytest.approx(list(map(float, found.outputs[:8])), abs=1e-6)
    else:
        assert outputs == found.outputs[:8]


@pytest.mark.slow
def test_the_command_scores_other_files(tmp_path, capsys):
    folder = runs.write(runs.recipe("classify", tmp_path), tmp_path / "run")
    others = tmp_path / "others.tsv"
    others.write_text("".join(f"{text}\tfire\n" for text in runs.TEXTS[:7]))
    assert cli.main(["evaluate", str(folder), "--data", str(others), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["task"], found["split"], found["count"]) == ("classify", "test", 7)
    answers = (folder / "test.others.tsv.hypotheses.txt").read_text().splitlines()
    assert found["accuracy"] == pytest.approx(100 * answers.count("fire") / 7)
    assert evaluations.read(folder, "test.others.tsv")["references"] == ["fire"] * 7
    assert cli.main(["evaluate", str(folder), "--data", str(others)]) == 0
    table = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert table[0] == ["small,", "test", "of", "others.tsv"] and ["count", "7"] in table
    low, high = found["accuracy_interval"]
    assert ["accuracy,", "%", f"{found['accuracy']:.2f}", f"{low:.2f}", "to", f"{high:.2f}"] in table


@pytest.mark.slow
def test_without_a_test_what_validates_is_scored(tmp_path):
    one = runs.recipe("classify", tmp_path)
    assert recipes.last_split(one) == "test"
    data = recipes.make(recipes.recipe.plain(one) | {"data": {"train": one.data.train, "valid": one.data.valid}})
    assert recipes.last_split(data) == "valid"
    assert recipes.last_split(data, one.data.test) == "test"  # examples that are given are none of the recipe's
    assert recipes.last_split(data, tmp_path / "nowhere") == "test"


@pytest.mark.parametrize("task", ["classify", "compare"])
@pytest.mark.parametrize("pieces", ["word", "unigram", "bpe", "char"])
def test_the_words_of_a_text_are_those_of_the_whole(task, pieces):
    tokenizer = Tokenizer.train(KNOWN, 40, model_type=pieces)
    for text in TEXTS:
        words = TASKS[task].words(tokenizer, text)
        assert len(words) == len(text.split())
        assert sum(words, []) == tokenizer.encode([text])[0], text


def covered(tmp_path, **changes):
    return runs.recipe("transduce", tmp_path, search={"max_output_length": 6, "coverage_penalty": 0.2}, **changes)


TOLD = {"seq2seq": {}, "stack": STACK, "reversible": STACK | {"depth": "reversible"}}
UNTOLD = {"none": {"attention": "none"}, "universal": STACK | {"depth": "universal"}, "exits": STACK | ADAPTIVE}


@pytest.mark.parametrize("name", TOLD)
def test_a_coverage_penalty_is_taken_where_attention_is_told(name, tmp_path):
    one = covered(tmp_path, **TOLD[name])
    one.job.check(one)
    build_model(one.job, one, 11, 13).source_mask({"mask": None})  # an error where it is not told


@pytest.mark.parametrize("name", UNTOLD)
def test_a_coverage_penalty_is_refused_elsewhere(name, tmp_path):
    one = covered(tmp_path, **UNTOLD[name])
    with pytest.raises(ValueError, match="coverage_penalty needs the attention of each step .* Leave it out"):
        one.job.check(one)
