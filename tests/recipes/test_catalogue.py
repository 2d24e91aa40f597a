"""Entries of the catalogue that no score table tests: each builds the model that its name says, and trains."""

import json

import pytest

from zoo import recipes, runs

TINY = ["model.units=8", "training.steps=2", "training.validate_every=1", "training.warmup=0", "training.batch_size=4"]
GATES = {"simple_rnn": 1, "gru": 3, "lstm": 4}  # matrices of a cell, side by side in its kernel


def built(recipe, *sizes):
    from zoo.tasks.parts import building

    return building.build_model(recipe.job, recipe, *sizes)


@pytest.mark.parametrize("cell", ["simple_rnn", "lstm"])
def test_the_cells_differ_in_nothing_else(cell):
    name = f"multi30k-de-en-{cell.replace('_', '-')}-additive"
    own, other = (recipes.load(each) for each in (name, "multi30k-de-en-gru-additive"))
    rows = zip(recipes.explain(own), recipes.explain(other), strict=True)
    changed = {f"{one['table']}.{one['setting']}" for one, two in rows if one["value"] != two["value"]}
    assert changed == {".name", ".description", "model.cell"} and own.model.cell == cell


@pytest.mark.parametrize("cell", GATES)
def test_a_translator_has_the_cell_of_its_recipe(cell):
    name = f"multi30k-de-en-{cell.replace('_', '-')}-additive"
    model = built(recipes.load(name, ["model.units=8"]), 30, 20)
    kernels = [each for each in model.weights if "recurrent_kernel" in each.path]
    assert len(kernels) == 3  # the encoder's two directions, and the decoder's one
    assert {each.shape for each in kernels} == {(8, GATES[cell] * 8)}


def test_a_self_attentive_translator_attends_among_the_states_of_its_encoder():
    from zoo.recurrent import SelfAttentiveEncoder

    model = built(recipes.load("multi30k-de-en-gru-self-attentive", ["model.units=8"]), 30, 20)
    assert isinstance(model.encoder, SelfAttentiveEncoder)


def test_pairs_are_read_by_a_classifier_of_pairs():
    from zoo.models import PairClassifier

    recipe = recipes.load("date-pairs-transformer-pre-norm", ["model.units=8", "model.num_heads=2"])
    assert isinstance(built(recipe, 40, 3), PairClassifier)


@pytest.mark.release
def test_pairs_of_dates_train_and_are_scored(tmp_path):
    sizes = ["data.train_size=40", "data.valid_size=8", "data.test_size=9", "model.num_heads=2"]
    one = recipes.load("date-pairs-transformer-pre-norm", [*TINY, *sizes])
    runs.train(one, tmp_path)
    scores, outputs = runs.evaluate(runs.open_run(tmp_path), "test")
    assert scores["count"] == 9 and set(outputs) <= {"earlier", "later", "same"}
    assert json.loads((tmp_path / "labels.json").read_text()) == ["earlier", "later", "same"]
