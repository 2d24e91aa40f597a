"""Sentence encoders are trained on scored pairs: cosines, their squared error and what it moves, against NumPy."""

import random

import numpy as np
import pytest
from keras import ops

import zoo
from serving.export import export_run
from tests.house_rules import ROOT
from tests.shared import once_more_on_jax
from tests.tasks import runs as written
from tools import cli
from zoo import recipes, runs, scores
from zoo.data import PartnerBatches
from zoo.recipes.proposal import propose
from zoo.runs.training import make_parts, make_training_steps
from zoo.tasks.parts.building import build_model
from zoo.training import named_weights, validate

RANGE = {"kind": "cosine", "lowest": 0.0, "highest": 3.0}
MINILM = ROOT / "tests" / "pretrained" / "data" / "minilm"
COUNT, BLANK, LONG = 500, 100, 200


def recipe(folder, **training):
    """Of an encoder without dropout."""
    model = written.READER["model"] | {"dropout": 0.0}
    own = {"batch_size": 8, "num_buckets": 1, "learning_rate": 0.01, "steps": 2, "validate_every": 1} | training
    return written.recipe("embed", folder, model=model, loss=RANGE, training=own)


def error(model, batch):
    """The squared error of the cosines of a batch, row by row in NumPy."""
    texts = [{"token_ids": batch[f"{side}_ids"], "lengths": batch[f"{side}_lengths"]} for side in ("first", "second")]
    first, second = (ops.convert_to_numpy(model(each)) for each in texts)
    total = 0.0
    for one, other, number, weight in zip(first, second, batch["labels"], batch["weights"], strict=True):
        lengths = np.linalg.norm(one) * np.linalg.norm(other)
        total += weight * (number - one @ other / lengths) ** 2 if lengths else 0.0
    return total / batch["weights"].sum()


def test_numbers_become_cosines_and_empty_rows_do_not_count(tmp_path):
    one = recipe(tmp_path)
    parts = make_parts(one)
    last = list(parts.valid)[-1]
    assert last["labels"].dtype == np.float32 and last["weights"].sum() == 4  # of 12 examples in eights
    found = np.concatenate([batch["labels"][batch["weights"] > 0] for batch in parts.valid])
    right = [float(line.split("\t")[2]) / 3 for line in written.lines("embed")[:12]]
    np.testing.assert_allclose(sorted(found), sorted(right), rtol=1e-6)


@pytest.mark.slow
def test_the_loss_is_the_squared_error_and_moves_the_body(tmp_path):
    one = recipe(tmp_path)
    parts = make_parts(one)
    model = build_model(one.job, one, *parts.sizes)
    steps, batch = make_training_steps(one, model), parts.train.batch(0)
    by_hand = [error(model, each) * each["weights"].sum() for each in parts.valid]
    found = validate(steps.evaluate, parts.valid)
    assert found == {"nll": pytest.approx(sum(by_hand) / 12, rel=1e-4)}
    expected, before = (
        error(model, batch),
        {path: ops.convert_to_numpy(w).copy() for path, w in named_weights(model).items()},
    )
    assert float(steps.train(batch)) == pytest.approx(expected, rel=1e-4)
    of_pairs = batch | {"labels": (batch["first_lengths"] % 3 / 3).astype("float32")}  # equal pairs have equal numbers
    first = error(model, of_pairs)
    for _ in range(60):
        steps.train(of_pairs)
    steps.sync()
    moved = {
        path
        for path, weight in named_weights(model).items()
        if np.abs(ops.convert_to_numpy(weight) - before[path]).max() > 1e-3
    }
    assert {path for path in before if "key_projection/bias" not in path} <= moved
    assert error(model, of_pairs) < 0.5 * first


@pytest.mark.slow
def test_a_training_begins_with_a_run_and_is_chosen_by_rank_correlation(tmp_path):
    one = recipe(tmp_path)
    base = written.write(one, tmp_path / "base")
    tuned = recipe(tmp_path, init=str(base), monitor="spearman")
    summary = runs.train(tuned, tmp_path / "run")
    opened = runs.open_run(tmp_path / "run")
    inputs, answers = recipes.read(opened.recipe, "valid")
    vectors, _ = opened.recipe.job.predict(opened, opened.recipe.job.lines(inputs))
    right = scores.similarity(scores.cosines(vectors[::2], vectors[1::2]), answers, resamples=1)["spearman"]
    assert summary["valid"]["spearman"] == pytest.approx(right, abs=1e-3)
    assert summary["init"]["new"] == [] and "perplexity" not in summary["valid"]


PAIRS = [(f"the {one} sat on number {at}", f"a {one} is sitting, {at}") for at in range(12) for one in ("cat", "dog")]


def ranking(folder, scale=20.0, **training):
    """Of an encoder without dropout, and pairs without numbers."""
    file = folder / "pairs.tsv"
    file.write_text("first\tsecond\n" + "".join(f"{one}\t{other}\n" for one, other in PAIRS))
    own = {"batch_size": 8, "num_buckets": 1, "learning_rate": 0.01, "steps": 2, "validate_every": 1} | training
    model, loss = written.READER["model"] | {"dropout": 0.0}, {"kind": "ranking", "scale": scale}
    columns = {"source": "first", "target": "second"}
    data = {"corpus": "files", "train": str(file), "valid": str(file), "columns": columns}
    settings = written.SETTINGS["embed"] | {"data": data, "model": model, "loss": loss, "training": own}
    return recipes.make({"name": "small", "task": "embed"} | settings)


def ranking_loss(model, batch, scale):
    """-log softmax of the scaled cosine with the own partner, over the partners of the batch, row by row in NumPy."""
    texts = [{"token_ids": batch[f"{side}_ids"], "lengths": batch[f"{side}_lengths"]} for side in ("first", "second")]
    first, second = (ops.convert_to_numpy(model(each)).astype("float64") for each in texts)
    real, total = np.flatnonzero(batch["weights"]), 0.0
    for row in real:
        logits = []
        for other in real:
            cosine = first[row] @ second[other] / (np.linalg.norm(first[row]) * np.linalg.norm(second[other]))
            logits.append(scale * cosine)
        own = logits[list(real).index(row)]
        total += np.log(np.sum(np.exp(np.array(logits) - own)))
    return total / len(real)


@pytest.mark.slow
@pytest.mark.release(but=1)
@pytest.mark.parametrize("scale", [20.0, 3.0])
def test_the_loss_of_partners_is_that_of_the_softmax_over_the_batch(scale, tmp_path):
    one = ranking(tmp_path, scale)
    parts = make_parts(one)
    model = build_model(one.job, one, *parts.sizes)
    steps, batch = make_training_steps(one, model), parts.train.batch(0)
    half = PartnerBatches([([[5, 6]], [[7]]), ([[8]], [[9, 5]]), ([[6]], [[8]])], scale, batch_size=5, shuffle=False)
    for each in (batch, half.batch(0)):  # whole, and filled up with empty rows
        sums = ops.convert_to_numpy(steps.evaluate(each))
        assert sums[0] / sums[2] == pytest.approx(ranking_loss(model, each, scale), rel=1e-4)
        assert sums[2] == np.sum(each["weights"])
    before = ranking_loss(model, batch, scale)
    assert float(steps.train(batch)) == pytest.approx(before, rel=1e-4)
    for _ in range(60):
        steps.train(batch)
    steps.sync()
    assert ranking_loss(model, batch, scale) < 0.5 * before


@pytest.mark.slow
def test_pairs_without_numbers_are_proposed_trained_and_scored(tmp_path):
    base = written.write(ranking(tmp_path), tmp_path / "base")
    file = tmp_path / "mine.tsv"
    file.write_text("".join(f"{one}\t{other}\n" for one, other in PAIRS))
    given = ["training.steps=2", "training.validate_every=1", "data.valid_share=0.4"]
    settings, notes = propose("embed", [str(file)], "mine", given, str(base))
    assert (settings["loss"]["kind"], settings["training"]["monitor"]) == ("ranking", "accuracy")
    assert "pairs without numbers: each text learns to find its partner" in notes
    summary = runs.train(recipes.make(settings), tmp_path / "run")
    assert 0 <= summary["valid"]["accuracy"] <= 1 and "nll" in summary["valid"]
    opened = runs.open_run(tmp_path / "run")
    found = runs.evaluation(opened, "valid")
    inputs, answers = recipes.read(opened.recipe, "valid")
    vectors, _ = opened.recipe.job.predict(opened, opened.recipe.job.lines(inputs))
    assert len(inputs) > 4 and set(answers) == {"1"}
    for row, rank in enumerate(map(int, found.outputs)):
        cosines = scores.cosines([vectors[2 * row]] * len(inputs), vectors[1::2])
        assert sum(cosines > cosines[row] + 1e-5) < rank <= sum(cosines >= cosines[row] - 1e-5)
    assert found.scores["accuracy"] == pytest.approx(100 * np.mean([rank == "1" for rank in found.outputs]))
    assert found.scores["mrr"] == pytest.approx(100 * np.mean([1 / int(rank) for rank in found.outputs]))


def test_partners_are_found_among_all():
    draw = np.random.default_rng(0)
    first, second = draw.normal(size=(2, 37, 5))
    found = scores.partner_ranks(first, second)
    for row, rank in enumerate(found):
        cosines = scores.cosines([first[row]] * 37, second)
        assert rank == 1 + sum(each > cosines[row] for each in cosines)
    assert scores.partner_ranks(np.ones((9, 2)), np.ones((9, 2))) == [5] * 9, "equal vectors find nobody"
    assert scores.partner_ranks([(), [1.0, 0.0]], [[0.0, 1.0], [2.0, 0.0]])[1] == 1
    assert scores.partners(found, ["1"] * 37)["mrr"] == pytest.approx(100 * np.mean(1 / np.array(found)))


def test_what_the_loss_of_partners_does_not_go_with(tmp_path):
    for training, said in (
        ({"parts": 2}, "parts would keep apart"),
        ({"batch_size": 1}, "parts would keep apart"),
        ({"monitor": "spearman"}, "no rank correlation"),
    ):
        with pytest.raises(ValueError, match=said):
            ranking(tmp_path, **training)


def test_it_does_not_begin_from_nothing(tmp_path):
    with pytest.raises(ValueError, match="The task embed begins with a network that has learnt to read elsewhere"):
        runs.train(recipe(tmp_path), tmp_path / "run")
    with pytest.raises(ValueError, match="highest must be above lowest; received 0.0 and 0.0"):
        written.recipe("embed", tmp_path, loss={"kind": "cosine", "lowest": 0.0, "highest": 0.0})


@pytest.mark.release
def test_the_same_on_jax():
    once_more_on_jax(__file__, "same_on_jax")


@pytest.mark.slow
def test_the_file_of_vectors_is_what_the_model_gives(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    zoo.pretrained.import_network(MINILM, "minilm")
    draw, words = random.Random(1), "the cat dog house old sea shell and a big where".split()
    texts = [" ".join(draw.choices(words, k=draw.randint(1, 12))) for _ in range(COUNT)]
    texts[BLANK], texts[LONG] = "", " ".join(words * 30)
    (tmp_path / "texts.txt").write_text("\n".join(texts) + "\n", encoding="utf-8")
    run = zoo.open("minilm")
    artefact = export_run(run, int8=False)
    assert cli.main(["run", str(artefact), "--file", "texts.txt", "--out", "vectors.npy"]) == 0
    found = np.load("vectors.npy")
    expected, cut = run.recipe.job.predict(run, texts)
    assert cut == 1 and not found[BLANK].any()
    expected[BLANK] = 0
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert len(np.unique(found.round(4), axis=0)) > COUNT / 2
