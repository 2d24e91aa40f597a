"""Paths of weights, patterns over them, frozen weights and learning-rate factors, on the arithmetic of Adam."""

import keras
import numpy as np
import pytest

from tests.models.cases import CASES
from tests.shared import mostly_at_releases, once_more_on_jax
from tests.training.tiny import arrays
from zoo.attention import AdaptiveSpanAttention, MultiHeadAttention
from zoo.blocks import PreNorm
from zoo.depth import ReversibleStack, Stack, make_stack
from zoo.feedforward import FeedForward, ProductKeyMemory
from zoo.models import Classifier, LanguageModel, Seq2Seq
from zoo.recurrent import RecurrentEncoder, RecurrentReader
from zoo.training import FactorAdam, RowAdam, SmoothedCrossEntropy, SpanSteps, freeze, make_steps, thaw
from zoo.training.selection import factors, named_weights, select_paths

pytestmark = pytest.mark.slow  # each compiles training steps

VOCABULARY = 11


def classifier():
    model = Classifier(VOCABULARY, 3, make_stack(2, 8, 2, 12, dropout=0.0), dropout=0.0)
    model.build()
    return model


def labelled(step):
    draw = np.random.default_rng(step)
    ids = draw.integers(0, VOCABULARY, (4, 5)).astype("int32")
    return {
        "token_ids": ids,
        "lengths": np.array([5, 3, 2, 4], "int32"),
        "labels": (ids[:, 0] % 3).astype("int32"),
        "weights": np.ones(4, "float32"),
    }


OFTEN = ("seq2seq-lstm-2-additive", "recurrent-classifier", "star-tagger", "language-model-span-memory")


@pytest.mark.release(but=1)
@pytest.mark.parametrize(
    "name", mostly_at_releases(sorted((each.name for each in CASES), key=lambda name: name not in OFTEN), len(OFTEN))
)
def test_every_weight_has_one_path(name):
    (case,) = [case for case in CASES if case.name == name]
    model, twin = case.make(), case.make()
    for each in (model, twin):
        case.apply(each, case.arguments(((1, 3), (2, 2)), 3, 0))
    found = named_weights(model)
    assert sorted(map(id, found.values())) == sorted(map(id, model.weights))
    assert {path: weight.shape for path, weight in found.items()} == {
        path: weight.shape for path, weight in named_weights(twin).items()
    }, "the paths do not count the layers of the process"
    assert not [path for path in found if "_layers" in path or path.startswith("layers/")]


def test_paths_are_attributes():
    assert "encoder/blocks/1/attention/query_projection/kernel" in named_weights(classifier())
    model = Seq2Seq(VOCABULARY, 13, 4, "lstm", num_layers=2)
    model.build()
    assert {
        "source_embedding/embeddings",
        "encoder/layers/1/backward_layer/cell/recurrent_kernel",
        "bias",
    } <= named_weights(model).keys()


PATHS = ["bias", "embedding/matrix", "encoder/blocks/0/bias", "encoder/blocks/10/bias", "encoder/blocks/0/norm/gamma"]


@pytest.mark.release(but=1)
@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("bias", ["bias"]),
        ("*bias", ["bias", "encoder/blocks/0/bias", "encoder/blocks/10/bias"]),
        ("encoder", PATHS[2:]),
        ("encoder/*", PATHS[2:]),
        ("encoder/blocks/0", ["encoder/blocks/0/bias", "encoder/blocks/0/norm/gamma"]),
        ("encoder/blocks/[0-9]/bias", ["encoder/blocks/0/bias"]),
        ("*", PATHS),
    ],
)
def test_what_a_pattern_selects(pattern, expected):
    assert select_paths("freeze", pattern, PATHS) == expected


@pytest.mark.release(but=1)
@pytest.mark.parametrize(
    ("pattern", "near"), [("encodr/*", "encoder"), ("encoder/block/0", "encoder/blocks/0"), ("zzz", "bias, embedding")]
)
def test_a_pattern_that_selects_nothing_names_the_nearest(pattern, near):
    with pytest.raises(ValueError, match=f"freeze has the pattern .*which none of the 5 weights has.*{near}"):
        select_paths("freeze", pattern, PATHS)


def test_frozen_weights_stay_bit_for_bit_and_have_no_state():
    model = classifier()
    frozen = freeze(model, ["embedding", "encoder/blocks/0/*"])
    weights = named_weights(model)
    before = {path: weight.numpy() for path, weight in weights.items()}
    optimizer = keras.optimizers.Adam(0.1, weight_decay=0.1, global_clipnorm=1.0)
    steps = make_steps(model, optimizer, SmoothedCrossEntropy())
    for step in range(3):
        steps.train(labelled(step))
    steps.sync()
    same = {path for path, weight in weights.items() if np.array_equal(weight.numpy(), before[path])}
    assert same == set(frozen) and 0 < len(frozen) < len(weights)
    assert len(optimizer.variables) == 2 + 2 * (len(weights) - len(frozen)), "iterations, rate, and two moments each"


def test_the_rest_trains_by_hand_as_if_the_frozen_weights_were_constants():
    """The same step by hand: the gradient of the readout alone, and Adam's first step with its weight decay."""
    import tensorflow as tf

    model = classifier()
    freeze(model, ["embedding", "encoder", "readout/bias"])
    kernel, batch = model.readout.kernel, labelled(0)
    (only,) = model.trainable_variables
    assert only is kernel
    with tf.GradientTape() as tape:
        logits = model({name: batch[name] for name in ("token_ids", "lengths")})
        chosen = tf.gather(tf.nn.log_softmax(logits), batch["labels"], batch_dims=1)
        loss = -tf.reduce_mean(chosen)
    gradient, old = tape.gradient(loss, kernel.value).numpy().astype("float64"), kernel.numpy().astype("float64")
    steps = make_steps(model, keras.optimizers.Adam(0.1, weight_decay=0.5), SmoothedCrossEntropy())
    steps.train(batch)
    expected = old - 0.1 * 0.5 * old - 0.1 * gradient / (np.abs(gradient) + 1e-7 / np.sqrt(1 - 0.999))
    np.testing.assert_allclose(kernel.numpy(), expected, atol=2e-5)


@pytest.mark.release(but=1)
@pytest.mark.parametrize("decay", [None, 0.3])
def test_factors_are_exact(decay):
    """Two steps of Adam on given gradients, against its equations in float64."""
    start = np.array([0.5, -1.0, 2.0])
    grads = [np.array([0.3, -0.2, 0.05]), np.array([-0.1, 0.4, 0.05])]
    weights = [keras.Variable(start, dtype="float32", name=name) for name in ("one", "two", "three")]
    optimizer = FactorAdam(0.01, beta_2=0.98, weight_decay=decay)
    optimizer.build(weights)
    optimizer.set_factors({id(weights[0]): 0.1, id(weights[2]): 7.0})
    for gradient in grads:
        optimizer.apply([keras.ops.convert_to_tensor(gradient, "float32")] * 3, weights)
    for weight, factor in zip(weights, (0.1, 1.0, 7.0), strict=True):
        x, m, v = start.copy(), 0.0, 0.0
        for count, gradient in enumerate(grads, 1):
            x = x - (decay or 0.0) * 0.01 * factor * x
            m, v = 0.9 * m + 0.1 * gradient, 0.98 * v + 0.02 * gradient**2
            rate = 0.01 * factor * np.sqrt(1 - 0.98**count) / (1 - 0.9**count)
            x = x - rate * m / (np.sqrt(v) + 1e-7)
        np.testing.assert_allclose(weight.numpy(), x, rtol=2e-6)


@pytest.mark.release
def test_without_factors_it_is_adam():
    found = []
    for make in (keras.optimizers.Adam, FactorAdam):
        keras.utils.set_random_seed(3)
        model = classifier()
        steps = make_steps(model, make(0.05, weight_decay=0.1, global_clipnorm=1.0), SmoothedCrossEntropy())
        for step in range(2):
            steps.train(labelled(step))
        found.append(arrays(model.trainable_variables))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_last_pattern_counts():
    model = classifier()
    found = factors(model, {"encoder": 0.1, "encoder/blocks/1": 0.5, "*/bias": 2.0})
    weights = named_weights(model)
    assert found[id(weights["encoder/blocks/0/attention/query_projection/kernel"])] == 0.1
    assert found[id(weights["encoder/blocks/1/attention/query_projection/kernel"])] == 0.5
    assert found[id(weights["encoder/blocks/1/attention/query_projection/bias"])] == 2.0
    assert id(weights["embedding/matrix"]) not in found


def test_what_selects_nothing_to_train_is_refused():
    model = classifier()
    with pytest.raises(ValueError, match="freeze selects all .* weights, so nothing is left to train"):
        freeze(classifier(), ["*"])
    freeze(model, ["encoder"])
    with pytest.raises(ValueError, match="rates has the pattern 'encoder/blocks/0', whose weights are not trained"):
        factors(model, {"encoder/blocks/0": 0.1})


def remembering(stack=Stack, query_norm="batch"):
    """A language model with a memory of slots in each of two blocks, which it reads at every position."""
    memories = [ProductKeyMemory(8, 4, 2, 4, 4, query_norm, seed=number) for number in range(2)]
    blocks = [PreNorm(AdaptiveSpanAttention(8, 2, max_span=8, ramp=3), memory) for memory in memories]
    model = LanguageModel(VOCABULARY, stack(blocks), dropout=0.0)
    model.build()
    return model


def text(step):
    ids = np.random.default_rng(step).integers(0, VOCABULARY, (3, 6)).astype("int32")
    return {"token_ids": ids[:, :-1], "labels": ids[:, 1:], "weights": np.ones((3, 5), "float32")}


MEMORY = "decoder/blocks/{}/feedforward"


@pytest.mark.release
@pytest.mark.parametrize("make", [make_steps, SpanSteps])
def test_tables_of_rows_are_frozen_and_have_factors_too(make):
    """The second memory is frozen with its batch norm; the first one's values move half as far with a factor of 1/2."""
    moved = {}
    for factor in (1.0, 0.5):
        keras.utils.set_random_seed(5)
        model = remembering()
        freeze(model, [MEMORY.format(1)])
        optimizer = RowAdam(1e-2, row_learning_rate=1e-2)
        steps = make(model, optimizer, SmoothedCrossEntropy())
        optimizer.set_factors(factors(model, {MEMORY.format(0) + "/values": factor}))
        weights = named_weights(model)
        before = {path: weight.numpy() for path, weight in weights.items()}
        steps.train(text(0))
        steps.sync()
        moved[factor] = {path: weight.numpy() - before[path] for path, weight in weights.items()}
    for path, change in moved[1.0].items():
        assert np.any(change) != path.startswith(MEMORY.format(1)) or path.endswith("ends"), path
    first = MEMORY.format(0) + "/values"
    np.testing.assert_allclose(moved[0.5][first], 0.5 * moved[1.0][first], atol=1e-6)


def test_a_file_does_not_keep_a_batch_norm_frozen(tmp_path):
    model = remembering()
    frozen = freeze(model, [MEMORY.format(1)])
    thaw(model, frozen)
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    assert len(again.trainable_weights) == len(remembering().trainable_weights)


def test_a_part_of_a_batch_norm_is_refused():
    model = remembering()
    with pytest.raises(ValueError, match="a part of the batch norm decoder/blocks/.*Expected all of it"):
        freeze(model, ["*moving_mean"])


@pytest.mark.slow
def test_frozen_blocks_of_a_reversible_stack_stay():
    blocks = [PreNorm(MultiHeadAttention(8, 2), FeedForward(8, 12)) for _ in range(2)]
    model = LanguageModel(VOCABULARY, ReversibleStack(blocks), dropout=0.0)
    model.build()
    frozen, weights = freeze(model, ["decoder/blocks/0"]), named_weights(model)
    before = {path: weight.numpy() for path, weight in weights.items()}
    steps = make_steps(model, keras.optimizers.Adam(0.1), SmoothedCrossEntropy())
    steps.train(text(0))
    steps.sync()
    assert {path for path, weight in weights.items() if np.array_equal(weight.numpy(), before[path])} == set(frozen)


@pytest.mark.slow
def test_a_recurrent_direction_is_frozen_alone():
    model = Classifier(VOCABULARY, 3, RecurrentReader(RecurrentEncoder(8, "lstm")))
    model.build()
    frozen = freeze(model, ["*/forward_layer"])
    assert len(frozen) == 3 and all(path.endswith(("kernel", "bias")) for path in frozen)
    steps = make_steps(model, keras.optimizers.Adam(0.1), SmoothedCrossEntropy())
    before = {path: weight.numpy() for path, weight in named_weights(model).items()}
    steps.train(labelled(0))
    steps.sync()
    still = {path for path, weight in named_weights(model).items() if np.array_equal(weight.numpy(), before[path])}
    assert still == set(frozen)


@pytest.mark.release
def test_the_same_on_jax():
    """Without the gradient that TensorFlow computes."""
    once_more_on_jax(__file__, leave_out="by_hand")
