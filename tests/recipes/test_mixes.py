"""All mixes of attention, feed-forward, block, depth and model: built, or refused when the recipe is read.

The mixes and the page that lists them come from docs/mixes.py. What is refused is known without Keras; what is not must
then train, be saved and be exported, of which a sample is drawn that is another one for each version of the package.
"""

import hashlib
import importlib.util
import itertools
import random
import tomllib

import keras
import numpy as np
import onnxruntime
import pytest
import tensorflow as tf
from keras import ops

from serving.export import signatures
from serving.export.onnx.convert import convert
from tests.house_rules import ROOT
from tests.shared import mostly_at_releases
from zoo.runs.training import make_loss
from zoo.tasks.parts.building import build_model
from zoo.training.steps.shared import call_settings, model_inputs

SPEC = importlib.util.spec_from_file_location("mixes", ROOT / "docs" / "mixes.py")
PAGES = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(PAGES)

VOCABULARY, LABELS, STEPS = 9, 3, 4
SMALL = {
    "lsh": {"num_buckets": 4, "chunk_length": 4},
    "multi_linear": {"rank": 3, "max_time": 8},
    "adaptive_span": {"max_span": 6, "ramp": 2},
    "product_key": {"num_keys": 4, "k": 2, "query_dim": 4},
}
SIZES = {"units": 4, "num_layers": 2, "num_heads": 2, "hidden_units": 4}
LENGTHS = np.array([5, 3], "int32")
IDS = np.random.default_rng(1).integers(4, VOCABULARY, (2, 5)).astype("int32")
IDS[np.arange(5) >= LENGTHS[:, None]] = 0


def version():
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]


def sample(count, stream):
    """Mixes that are built, in an order that the package's version decides."""
    seed = int.from_bytes(hashlib.sha256(f"{version()} {stream}".encode()).digest()[:8], "big")
    mixes = PAGES.mixes()
    drawn = random.Random(seed).sample(mixes, len(mixes))
    return list(itertools.islice((mix for mix in drawn if PAGES.reason(mix) is None), count))


def made(mix):
    """The recipe and the model of a mix, tiny."""
    task, depth, block, attention, feedforward = mix
    slots = [{"layer": name} | SMALL.get(name, {}) for name in (attention, feedforward)]
    sizes = SIZES | ({"context": 8} if task == "continue" else {})
    recipe = PAGES.recipe_of((task, depth, block, *slots), **sizes)
    sizes = {"translate": (VOCABULARY,) * 2, "continue": (VOCABULARY,)}.get(task, (VOCABULARY, LABELS))
    return recipe, build_model(recipe.job, recipe, *sizes)


def batch_of(task):
    """What a training step is given."""
    if task == "translate":
        sides = {"source_ids": IDS, "source_lengths": LENGTHS, "target_ids": np.roll(IDS, 1, axis=1)}
        return sides | {"labels": IDS, "weights": (IDS > 0).astype("float32")}
    if task == "continue":
        return {"token_ids": np.roll(IDS, 1, axis=1), "labels": IDS, "weights": (IDS > 0).astype("float32")}
    read = {"token_ids": IDS, "lengths": LENGTHS}
    if task == "classify":
        return read | {"labels": np.array([1, 2], "int32"), "weights": np.ones(2, "float32")}
    return read | {"labels": IDS % LABELS, "weights": (IDS > 0).astype("float32")}


def function_of(model):
    """`(function, signature)` of what is exported: whole greedy generation, or the labels' probabilities."""
    named = {signature.name: signature for signature in model.signatures()}
    if "greedy" not in named:
        signature = next(each for each in named.values() if "token_ids" in [one.name for one in each.inputs])
        return signatures.reading(model, "probabilities", ops.softmax), signature
    return signatures.generation(model, 1, STEPS, 0.6), named["greedy"]


def test_the_page_tells_each():
    assert PAGES.PAGE.read_text(encoding="utf-8") == PAGES.page(), "run: python docs/mixes.py"


@pytest.mark.parametrize("mix", [pytest.param(mix, id="-".join(mix)) for mix in sample(8, "quick")])
def test_a_few_are_built(mix):
    _, model = made(mix)
    assert model(model_inputs(batch_of(mix[0]))).shape[-1] in (VOCABULARY, LABELS)


@pytest.mark.release
def test_all_that_are_not_refused_are_built():
    failed = {}
    for mix in PAGES.mixes():
        try:
            if PAGES.reason(mix) is None:
                made(mix)
        except Exception as error:
            failed[mix] = repr(error)
    assert not failed


@pytest.mark.release(but=1)
@pytest.mark.slow
@pytest.mark.parametrize(
    "mix", mostly_at_releases([pytest.param(mix, id="-".join(mix)) for mix in sample(60, "slow")], 10)
)
def test_a_sample_trains_and_survives_files(mix, tmp_path):
    recipe, model = made(mix)
    train(recipe, model)
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    inputs = model_inputs(batch_of(mix[0]))
    expected = ops.convert_to_numpy(model(inputs))
    np.testing.assert_array_equal(ops.convert_to_numpy(again(inputs)), expected)

    function, signature = function_of(model)
    specs = {each.name: tf.TensorSpec([None] * len(each.shape), each.dtype, each.name) for each in signature.inputs}
    traced = tf.function(function, autograph=False).get_concrete_function(**specs)
    given = {"token_ids": IDS, "lengths": LENGTHS}
    answers = {name: value.numpy() for name, value in traced(**{k: tf.constant(v) for k, v in given.items()}).items()}
    tf.saved_model.save(Held(model, traced), tmp_path / "saved", signatures=traced)
    served = tf.saved_model.load(tmp_path / "saved").signatures["serving_default"](
        **{name: tf.constant(value) for name, value in given.items()}
    )
    session = onnxruntime.InferenceSession(convert(function, signature).SerializeToString())
    names = [each.name for each in signature.outputs]
    for name, graph in zip(names, session.run(names, given), strict=True):
        np.testing.assert_allclose(served[name].numpy(), answers[name], atol=1e-5)
        np.testing.assert_allclose(graph, answers[name], atol=1e-4)


class Held(tf.Module):
    """What a SavedModel must keep alive."""

    def __init__(self, model, function):
        super().__init__()
        self.variables_of_the_model = [each.value for each in model.variables]
        self.function = function


def train(recipe, model):
    """One step of gradient descent, by the recipe's loss and what layers add to it."""
    batch, loss = batch_of(recipe.task), make_loss(recipe)
    with tf.GradientTape() as tape:
        outputs = model(model_inputs(batch), **call_settings(loss))
        total = loss(batch["labels"], outputs, sample_weight=batch["weights"]) + sum(model.losses)
    weights = [weight.value for weight in model.trainable_variables]
    gradients = tape.gradient(total, weights)
    moved = 0.0
    for weight, gradient in zip(weights, gradients, strict=True):
        if gradient is not None:
            dense = tf.convert_to_tensor(gradient)
            assert np.isfinite(dense.numpy()).all()
            moved += float(tf.reduce_sum(dense**2))
            weight.assign_sub(0.1 * dense)
    assert np.isfinite(float(total)) and moved > 0
