"""What decides the function of weights that are taken over is compared, whatever the layers: it is read off configs."""

import keras
import numpy as np
import pytest
from keras import ops

from tests.recipes.small import KINDS, recipe
from tests.runs.conftest import STEPS
from tests.runs.test_initial import tuned
from zoo import runs
from zoo.recipes.folder import resolve_initial
from zoo.runs.takeover import find_differences, prepare_takeover
from zoo.tasks.parts.building import build_model
from zoo.training import named_weights

SIZE = 9


def rarely(names, often):
    """Names of cases, the first `often` of them in every run."""
    return [pytest.param(name, marks=[pytest.mark.slow] * (number >= often)) for number, name in enumerate(names)]


def model(one, size=SIZE):
    return build_model(one.job, one, *[size] * (len(one.job.sides) + one.job.labelled))


def found(kind, *overrides, before=()):
    """The differences of a kind of model whose recipe is changed, its vocabulary too."""
    old, new = recipe(kind, *before), recipe(kind, *before, *overrides)
    return find_differences(model(old, 17), model(new), model(new, SIZE + 1))


def answers(one, weights, ids):
    """What a model computes with these weights."""
    made = model(one)
    for path, weight in named_weights(made).items():
        weight.assign(weights[path])
    return ops.convert_to_numpy(made(ids, training=False))


@pytest.mark.parametrize("kind", rarely(KINDS, 1))
def test_the_same_recipe_has_none(kind):
    """Neither have other vocabularies, nor what is of the training alone."""
    assert found(kind, "model.dropout=0.3", "training.seed=7") == []


LSH = ["attention.layer=lsh", "attention.num_buckets=4", "attention.chunk_length=4"]
INSIDE = "encoder.blocks.*"
CHANGES = {
    "activation": ("classifier", "model.activation=gelu", (f"{INSIDE}.feedforward.activation", "relu", "gelu")),
    "heads": ("classifier", "model.num_heads=1", (f"{INSIDE}.attention.num_heads", "2", "1")),
    "wiring": ("classifier", "block.layer=post_norm", (INSIDE, "PreNorm", "PostNorm")),
    "positions": (
        "classifier",
        "positions=convolutional",
        ("positions", "SinusoidalPositions", "ConvolutionalPositions"),
    ),
    "norms": ("classifier", "block.norm=rms", (f"{INSIDE}.norm", "layer", "rms")),
    "epsilon": ("classifier", "block.epsilon=1e-12", (f"{INSIDE}.epsilon", "1e-05", "1e-12")),
    "output": ("language_model", "embedding.output_bias=true", ("embedding.output_bias", "False", "True")),
    "decoder": ("transformer", "model.activation=gelu", ("decoder.blocks.*.feedforward.activation", "relu", "gelu")),
    "rounds": ("language_model", "attention.rounds=1", ("decoder.blocks.*.attention.rounds", "2", "1"), LSH),
    "threshold": ("stories", "depth.threshold=0.5", ("encoder.halting.threshold", "0.99", "0.5")),
    "fewer blocks": ("classifier", "model.num_layers=1", (INSIDE, "PreNorm", "nothing"), ["model.num_layers=2"]),
    "cell": ("seq2seq", "model.cell=gru_reset_before", ("cell", "gru", "gru_reset_before")),
}


@pytest.mark.parametrize("change", rarely(CHANGES, 3))
def test_what_decides_the_function_is_a_difference(change):
    kind, changed, expected, *before = CHANGES[change]
    assert expected in found(kind, changed, before=before[0] if before else ())


def test_one_more_block_is_new_and_no_difference():
    assert found("classifier", "model.num_layers=3", before=["model.num_layers=2"]) == []


@pytest.mark.parametrize("change", ["activation", "heads", "wiring"])
def test_the_same_weights_compute_something_else(change):
    """The oracle of the table: by those weights the answers are others, and dropout changes none."""
    kind, changed, _ = CHANGES[change]
    weights = {path: ops.convert_to_numpy(each) + 0.3 for path, each in named_weights(model(recipe(kind))).items()}
    ids = {"token_ids": np.array([[4, 5, 6, 7]]), "lengths": np.array([4])}
    one, other, dropped = (
        answers(recipe(kind, *each), weights, ids) for each in ([], [changed], ["model.dropout=0.7", "training.seed=5"])
    )
    assert np.abs(one - other).max() > 1e-4
    np.testing.assert_array_equal(one, dropped)


@pytest.mark.slow
def test_a_difference_is_refused_before_the_data_are_read(base):
    one, initial = resolve_initial(tuned(base[0], "classifier", "model.activation=gelu", "model.num_heads=1"))
    with pytest.raises(ValueError, match="would compute something else here") as refused:
        prepare_takeover(one, initial)
    told = str(refused.value)
    assert "encoder.blocks.*.feedforward.activation is relu there and gelu here" in told
    assert "encoder.blocks.*.attention.num_heads is 2 there and 1 here" in told
    assert 'training.init_differences = "allow"' in told


@pytest.mark.slow
def test_what_is_allowed_is_told_and_kept(base, tmp_path):
    lines = []
    one = tuned(base[0], "classifier", "model.activation=gelu", init_differences="allow", freeze=["embedding"])
    record = runs.train(one, tmp_path / "run", base[1], log=lines.append)["init"]
    assert record["differences"] == [("encoder.blocks.*.feedforward.activation", "relu", "gelu")]
    assert any("compute something else: encoder.blocks.*.feedforward.activation is relu" in line for line in lines)
    keras.models.load_model(tmp_path / "run" / "model.keras", compile=False)


@pytest.mark.slow
def test_another_task_is_compared_where_both_have_layers(base):
    changes = ["embedding=tokens", "text.noise.rare=0", "model.activation=gelu"]
    one, initial = resolve_initial(recipe("tagger", *changes, training=STEPS | {"init": str(base[0])}))
    with pytest.raises(ValueError, match="feedforward.activation is relu there and gelu here") as refused:
        prepare_takeover(one, initial)
    assert "Classifier" not in str(refused.value)
