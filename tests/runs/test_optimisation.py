"""From a recipe to its optimizer and plan, and to the scores of whole answers that choose the weights."""

import json

import keras
import numpy as np
import pytest

from tests.recipes.small import recipe
from zoo import recipes, runs
from zoo.core.devices import on_a_processor
from zoo.runs import open_run, train
from zoo.runs.training import make_optimizer, make_parts, make_plan, make_training_steps
from zoo.training import validate


def test_weight_decay_shrinks_matrices_and_leaves_biases_and_norms_alone():
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2), keras.layers.LayerNormalization()])
    for variable in model.trainable_variables:
        variable.assign(np.full(variable.shape, 2.0))
    optimizer = make_optimizer(recipe(training={"learning_rate": 0.1, "weight_decay": 0.5}))
    optimizer.build(model.trainable_variables)
    zeros = [keras.ops.zeros_like(variable) for variable in model.trainable_variables]
    optimizer.apply(zeros, model.trainable_variables)
    kernel, *rest = (np.array(variable.value, copy=None) for variable in model.trainable_variables)
    np.testing.assert_allclose(kernel, 2.0 * (1 - 0.1 * 0.5), rtol=1e-6)
    for value in rest:
        assert (value == 2.0).all()


@pytest.mark.parametrize(("clip_norm", "expected"), [(0.0, None), (2.0, 2.0)])
def test_settings_reach_the_optimizer(clip_norm, expected):
    optimizer = make_optimizer(recipe(training={"clip_norm": clip_norm, "adam_beta_2": 0.98, "schedule": "constant"}))
    assert optimizer.global_clipnorm == expected and optimizer.beta_2 == 0.98 and optimizer.weight_decay is None


def test_the_plan_is_the_recipes():
    plan = make_plan(recipe(training={"steps": 8, "average": 3, "patience": 2, "monitor": "accuracy"}))
    assert (plan.steps, plan.keep, plan.patience, plan.monitor) == (8, 3, 2, "accuracy")


def test_averages_and_scaled_losses_come_from_the_recipe():
    plain, lean = (make_optimizer(recipe(training=own)) for own in ({}, {"ema": 0.9, "precision": "mixed_float16"}))
    assert not plain.use_ema and not isinstance(plain, keras.optimizers.LossScaleOptimizer)
    assert isinstance(lean, keras.optimizers.LossScaleOptimizer)
    assert lean.inner_optimizer.use_ema and lean.inner_optimizer.ema_momentum == 0.9


FASTER = "mixed_bfloat16 is no faster than float32 on TensorFlow and a processor; on JAX it is (KERAS_BACKEND=jax)"


@pytest.mark.release
@pytest.mark.parametrize("precision", ["mixed_bfloat16", "mixed_float16"])
@pytest.mark.parametrize("kind", ["seq2seq", "transformer"])
def test_a_run_of_fewer_bits_is_a_model_of_float32(kind, precision, tmp_path):
    """Its layers compute in 16 bits while it is trained; what is kept computes in float32."""
    lean = {"precision": precision, "parts": 2, "ema": 0.5, "prefetch": 2, "steps": 6}
    told = []
    summary = train(recipe(kind, training=lean), tmp_path / "run", log=told.append)
    slow = precision == "mixed_bfloat16" and keras.backend.backend() == "tensorflow" and on_a_processor()
    assert [line for line in told if "KERAS_BACKEND=jax" in line] == [FASTER] * slow
    opened = open_run(tmp_path / "run")
    for layer in opened.model._flatten_layers():
        assert layer.dtype_policy.name == "float32", layer.path
    assert keras.config.dtype_policy().name == "float32"
    parts = make_parts(opened.recipe, tokenizers=opened.tokenizers)
    steps = make_training_steps(recipe(kind), opened.model)
    assert validate(steps.evaluate, parts.valid)["nll"] == pytest.approx(summary["valid"]["nll"], rel=0.02)


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
