"""Recurrent models from recipes: every cell with every encoder, of the models that write and of those that read."""

import itertools

import keras
import numpy as np
import pytest

from tests.recurrent.cases import CELLS
from tests.shared import mostly_at_releases
from zoo import recipes
from zoo.runs.training import make_training_steps
from zoo.tasks.parts.building import build_model

pytestmark = pytest.mark.slow  # each trains a model

ENCODERS = ("bidirectional", "unidirectional", "self_attentive")
SIZES = {"translate": (11, 13), "classify": (11, 3), "compare": (11, 3), "tag": (11, 5)}
DATA = {"translate": "reversal", "classify": "trec", "compare": "files", "tag": "tagged"}


def recipe(task, cell="gru", encoder="bidirectional", num_layers=1, **tables):
    """A small recurrent recipe of a task."""
    sizes = {"kind": "recurrent", "units": 4, "cell": cell, "encoder": encoder, "num_layers": num_layers}
    base = {"name": "small", "task": task, "data": {"corpus": DATA[task]}, "model": sizes | {"dropout": 0.0}}
    return recipes.make(base | tables)


def batch(task):
    """Two rows, the second with padding."""
    draw = np.random.default_rng(3)

    def ids(time):
        return draw.integers(4, 11, (2, time)).astype("int32")

    lengths, labels = np.array([5, 3], "int32"), {"labels": np.array([1, 2], "int32"), "weights": np.ones(2, "float32")}
    if task == "translate":
        weights = {"weights": np.ones((2, 4), "float32")}
        return {"source_ids": ids(5), "source_lengths": lengths, "target_ids": ids(4), "labels": ids(4)} | weights
    if task == "compare":
        sides = {"first_ids": ids(5), "first_lengths": lengths, "second_ids": ids(6), "second_lengths": lengths}
        return sides | labels
    if task == "tag":
        labels = {"labels": ids(5) % 5, "weights": (np.arange(5) < lengths[:, None]).astype("float32")}
    return {"token_ids": ids(5), "lengths": lengths} | labels


def trains_and_loads(one, path):
    """A step changes every weight that it should, and the file gives the same answers."""
    model = build_model(one.job, one, *SIZES[one.task])
    before = [weight.numpy() for weight in model.trainable_variables]
    steps, example = make_training_steps(one, model), batch(one.task)
    first = float(steps.train(example))
    losses = [float(steps.train(example)) for _ in range(30)]
    assert np.isfinite(losses).all() and losses[-1] < first
    still = [
        weight.path
        for weight, old in zip(model.trainable_variables, before, strict=True)
        if np.array_equal(weight.numpy(), old)
    ]
    assert not still
    model.save(path)
    inputs = {name: value for name, value in example.items() if name not in ("labels", "weights")}
    np.testing.assert_array_equal(keras.models.load_model(path)(inputs), model(inputs))
    return model


MIXES = list(itertools.product(SIZES, CELLS, ENCODERS))
QUICK = [("classify", "gru", "unidirectional"), ("tag", "lstm", "self_attentive")]


@pytest.mark.release(but=1)
@pytest.mark.parametrize(
    ("task", "cell", "encoder"),
    QUICK + mostly_at_releases([pytest.param(*mix, marks=pytest.mark.slow) for mix in MIXES if mix not in QUICK], 6),
)
def test_every_cell_with_every_encoder(task, cell, encoder, tmp_path):
    trains_and_loads(recipe(task, cell, encoder), tmp_path / "model.keras")


@pytest.mark.release(but="unidirectional-none-simple_rnn")
@pytest.mark.slow
@pytest.mark.parametrize("cell", mostly_at_releases(CELLS, 1))
@pytest.mark.parametrize(("encoder", "attention"), [("self_attentive", "dot"), ("unidirectional", "none")])
def test_stacked_encoders_and_other_attentions(cell, encoder, attention, tmp_path):
    one = recipe("translate", cell, encoder, num_layers=2, attention=attention)
    trains_and_loads(one, tmp_path / "model.keras")


def test_states_that_nobody_reads_do_not_attend():
    """Without attention the decoder takes the final states, so the encoder's attention would never be trained."""
    with pytest.raises(ValueError, match=r"model.encoder='self_attentive' has no effect.*Leave it out"):
        recipe("translate", "gru", "self_attentive", attention="none")


def test_the_widths_of_a_recurrent_reader():
    """As of a model that writes: `units` is the width of the embeddings and of each direction."""
    widths = {}
    for encoder in ENCODERS:
        model = build_model(recipe("tag").job, recipe("tag", encoder=encoder, num_layers=2), 11, 5)
        widths[encoder] = model.embedding.matrix.shape[1], model.encoder.units, model.readout.kernel.shape[0]
    assert widths == {"bidirectional": (4, 8, 8), "unidirectional": (4, 4, 4), "self_attentive": (4, 8, 8)}


def test_states_attend_to_each_other_by_scaled_products():
    """As the decoder's dot products: without a scale, hundreds of units make one weight 1 and the gradient vanish."""
    attention = build_model(recipe("tag").job, recipe("tag", encoder="self_attentive"), 11, 5).encoder.encoder.attention
    assert (attention.units, attention.scale) == (4, 0.5)


def test_layers_drop_other_states():
    model = build_model(recipe("tag").job, recipe("tag", num_layers=3), 11, 5)
    seeds = [layer.seed for layer in [*model.dropout_layers, *model.encoder.encoder.dropout_layers]]
    assert len(set(seeds)) == 4 and None not in seeds


def test_a_recurrent_reader_reads_the_spelling_and_knows_no_positions():
    model = build_model(recipe("tag").job, recipe("tag", embedding={"layer": "spelled", "alone": 0.2}), 11, 5)
    assert type(model.embedding).__name__ == "SpelledEmbedding" and model.embedding.units == 4
    assert type(model.positions).__name__ == "NoPositions"
    with pytest.raises(ValueError, match=r"\[positions\] has no place in this recipe: its model has"):
        recipe("tag", positions="learned")
    with pytest.raises(ValueError, match="embedding must be one of tokens, spelled; received 'sentences'"):
        recipe("classify", embedding="sentences")


@pytest.mark.release(but=1)
@pytest.mark.parametrize("name", ["trec-transformer-pre-norm", "ewt-pos-transformer-pre-norm", "trec-star"])
def test_a_recipe_of_blocks_becomes_recurrent_by_one_setting(name):
    """What has no effect in it any more, as the number of heads, falls away."""
    one = recipes.load(name, ["model=recurrent", "model.cell=lstm"])
    assert one.model.cell == "lstm" and one.depth is None and one.attention is None
    assert one.model.units == recipes.load(name).model.units
