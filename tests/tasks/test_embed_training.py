"""Sentence encoders are trained on scored pairs: cosines, their squared error and what it moves, against NumPy."""

import numpy as np
import pytest
from keras import ops

from tests.shared import once_more_on_jax
from tests.tasks import runs as written
from zoo import recipes, runs, scores
from zoo.runs.training import make_parts, make_training_steps
from zoo.tasks.parts.building import built
from zoo.training import named_weights, validate

RANGE = {"kind": "cosine", "lowest": 0.0, "highest": 3.0}


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
    model = built(one.job, one, *parts.sizes)
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


def test_it_does_not_begin_from_nothing(tmp_path):
    with pytest.raises(ValueError, match="The task embed begins with a network that has learnt to read elsewhere"):
        runs.train(recipe(tmp_path), tmp_path / "run")
    with pytest.raises(ValueError, match="highest must be above lowest; received 0.0 and 0.0"):
        written.recipe("embed", tmp_path, loss={"kind": "cosine", "lowest": 0.0, "highest": 0.0})


@pytest.mark.slow
def test_the_same_on_jax():
    once_more_on_jax(__file__, "same_on_jax")
