"""Of every system, a batch in parts is the batch: whatever layers add to the loss, and what is computed again."""

import keras
import numpy as np
import pytest

from tests.core.systems import LSH, STACK, SYSTEMS, WIDE
from tests.recipes.small import recipe, write_corpus
from tests.shared import once_more_on_jax
from zoo.runs import training
from zoo.runs.training import make_loss
from zoo.training import make_steps

DYNAMIC = [*STACK, "attention.layer=adaptive_span", "attention.max_span=4", "attention.dynamic=true"]
SPANS = [*DYNAMIC, "attention.penalty=0.1"]
AGAIN = ["depth.layer=reversible", "depth.activations="]
HALTING = ["depth.layer=universal", "depth.ponder=0.5", "depth.halting="]
STAR = ["model.num_layers=2", "depth.layer=star"]
SYSTEMS = SYSTEMS | {
    "universal": ("classifier", [*STACK, *HALTING[:-1], f"{HALTING[-1]}accumulated"]),
    "universal that writes": ("transformer", [*STACK, *HALTING[:-1], f"{HALTING[-1]}interpolated"]),
    "universal of sentences": ("stories", [*WIDE, "depth.ponder=0.5"]),
    "product key": ("language_model", [*SYSTEMS["product key"][1], "feedforward.query_norm=layer"]),
    "dynamic spans": ("language_model", SPANS),
    "dynamic spans, recomputed": ("language_model", [*SPANS, AGAIN[0], f"{AGAIN[1]}checkpoint"]),
    "dynamic spans, reversible": ("language_model", [*SPANS, AGAIN[0], f"{AGAIN[1]}reversible"]),
    "reformer, recomputed": ("language_model", [*STACK, *LSH, AGAIN[0], f"{AGAIN[1]}checkpoint", "model.context=8"]),
    "star tagger": ("tagger", [*WIDE, *STAR, "embedding=tokens", "text.noise.rare=0"]),
}  # fmt: skip


def trained(system, parts, folder):
    """(losses, weights) of three steps whose updates are the gradients, clipped when they are whole."""
    kind, changes = SYSTEMS[system]
    one = recipe(kind, *changes, "model.dropout=0", training={"batch_size": 8, "parts": parts})
    made = training.make_parts(one, write_corpus(one, folder))
    model = training.build_with_precision(one, made.sizes, "float32")
    one.job.prepare(one, model, made.tokenizers)
    steps = make_steps(model, keras.optimizers.SGD(0.1, global_clipnorm=0.5), make_loss(one), parts)
    losses = [float(steps.train(made.train.batch(step))) for step in range(3)]
    steps.sync()
    return losses, [np.array(weight.value, copy=None) for weight in model.trainable_variables]


@pytest.mark.slow
@pytest.mark.release(but="product")
@pytest.mark.parametrize("system", SYSTEMS)
def test_parts_train_as_the_whole_batch(system, tmp_path):
    """The parts have other numbers of tokens."""
    whole, found = (trained(system, parts, tmp_path / str(parts)) for parts in (1, 4))
    np.testing.assert_allclose(found[0], whole[0], rtol=2e-6)
    for one, other in zip(found[1], whole[1], strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6, rtol=0)


@pytest.mark.release
def test_the_same_on_jax():
    once_more_on_jax(__file__)
