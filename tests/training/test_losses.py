"""Losses and per-token sums against NumPy, also of a training step whose logits never exist all at once."""

import math

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from zoo.depth import make_stack
from zoo.embeddings import TokenEmbedding
from zoo.models import LanguageModel, Transformer
from zoo.training import ChunkedCrossEntropy, SmoothedCrossEntropy, make_steps, summarise, token_sums
from zoo.training.losses import chunked_cross_entropy


def oracle(labels, logits, weights, smoothing):
    """A double loop over tokens: -sum_v q_v log p_v, q = (1 - e) * onehot + e / V."""
    total = 0.0
    for i, j in np.ndindex(labels.shape):
        z = logits[i, j].astype("float64")
        log_p = z - z.max() - np.log(np.exp(z - z.max()).sum())
        q = np.full(len(z), smoothing / len(z))
        q[labels[i, j]] += 1 - smoothing
        total += weights[i, j] * -(q * log_p).sum()
    return total / weights.sum()


@pytest.fixture
def batch():
    random = np.random.default_rng(2)
    labels = random.integers(0, 7, (3, 5))
    logits = random.normal(scale=4, size=(3, 5, 7)).astype("float32")
    return labels, logits, np.float32(np.arange(5) < np.array([[5], [2], [3]]))


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.7])
def test_loss_is_the_weighted_mean_of_the_definition(batch, smoothing):
    labels, logits, weights = batch
    loss = SmoothedCrossEntropy(smoothing)(labels, logits, sample_weight=weights)
    np.testing.assert_allclose(float(loss), oracle(labels, logits, weights, smoothing), rtol=1e-6)


@pytest.mark.parametrize("chunks", [1, 2, 5, 7])
def test_chunks_of_a_vocabulary_change_nothing(batch, chunks):
    """Neither the loss nor its gradients: whether they divide the 5 positions or not."""
    labels, _, weights = batch
    random = np.random.default_rng(4)
    states, matrix = (tf.constant(random.normal(size=shape), "float32") for shape in ((3, 5, 4), (7, 4)))

    def found(loss):
        with tf.GradientTape() as tape:
            tape.watch([states, matrix])
            value = loss()
        return [float(value), *tape.gradient(value, [states, matrix])]

    logits = tf.matmul(states, matrix, transpose_b=True).numpy()
    whole = found(lambda: SmoothedCrossEntropy(0.1)(labels, tf.matmul(states, matrix, transpose_b=True), weights))
    parts = found(lambda: chunked_cross_entropy(states, [matrix], labels, weights, chunks, 0.1))
    np.testing.assert_allclose(parts[0], oracle(labels, logits, weights, 0.1), rtol=1e-6)
    for one, other in zip(parts[1:], whole[1:], strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
    assert float(chunked_cross_entropy(states, [matrix], labels, 0 * weights, chunks)) == 0.0


def test_padding_does_not_matter(batch):
    labels, logits, weights = batch
    loss = SmoothedCrossEntropy(0.1)
    other = np.where(weights[..., None] > 0, logits, 50.0).astype("float32")
    expected = float(loss(labels, logits, sample_weight=weights))
    assert float(loss(labels, other, sample_weight=weights)) == expected


def test_a_batch_without_tokens_has_loss_zero_and_gradient_zero(batch):
    labels, logits, weights = batch
    layer = keras.layers.Dense(7)
    layer.build((None, 7))
    model = keras.Sequential([layer])
    model.compile(keras.optimizers.SGD(1.0), SmoothedCrossEntropy(0.1))
    before = layer.get_weights()
    assert model.train_on_batch(logits, labels, sample_weight=0 * weights) == 0.0
    for old, new in zip(before, layer.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)


def test_config_round_trip_keeps_the_smoothing(batch):
    loss = SmoothedCrossEntropy(0.2)
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(loss))
    labels, logits, weights = batch
    arguments = labels, ops.convert_to_tensor(logits), weights
    assert float(again(*arguments)) == float(loss(*arguments))


@pytest.mark.parametrize("smoothing", [-0.1, 1.0])
def test_smoothing_outside_its_range_is_refused(smoothing):
    with pytest.raises(ValueError, match=r"smoothing must lie in \[0, 1\), received"):
        SmoothedCrossEntropy(smoothing)


def test_sums_count_only_weighted_positions():
    logits = np.log(np.array([[[0.5, 0.25, 0.25], [0.1, 0.1, 0.8], [1.0, 1.0, 1.0]]]))
    labels = np.array([[0, 1, 2]])
    sums = np.asarray(token_sums(labels, logits.astype("float32"), np.float32([[1, 1, 0]])))
    np.testing.assert_allclose(sums, [-math.log(0.5) - math.log(0.1), 1, 2], rtol=1e-6)


def test_a_non_finite_padding_stays_out():
    logits = np.zeros((1, 2, 3), "float32")
    logits[0, 1] = np.nan
    sums = np.asarray(token_sums(np.zeros((1, 2)), logits, np.float32([[1, 0]])))
    np.testing.assert_allclose(sums, [math.log(3), 1, 1], rtol=1e-6)


def test_summary():
    scores = summarise(2 * math.log(5), 1.0, 2.0)
    assert scores == {"nll": math.log(5), "perplexity": pytest.approx(5), "accuracy": 0.5}
    assert summarise(1e6, 0.0, 1.0)["perplexity"] == math.inf


def test_an_empty_validation_set_is_refused():
    with pytest.raises(ValueError, match="at least one token"):
        summarise(0.0, 0.0, 0.0)


@pytest.mark.release
@pytest.mark.parametrize("kind", ["language_model", "transformer", "own_output"])
def test_a_chunked_loss_trains_the_same(kind):
    """Three updates: losses and weights, with half of the positions' logits at a time."""
    found = []
    for loss in (SmoothedCrossEntropy(0.1), ChunkedCrossEntropy(2, 0.1)):
        keras.utils.set_random_seed(3)
        model, batch = chunked_case(kind)
        steps = make_steps(model, keras.optimizers.SGD(0.1), loss)
        losses = [float(steps.train(batch)) for _ in range(3)]
        steps.sync()
        found.append((losses, float(steps.evaluate(batch)[0]), model.get_weights()))
    (losses, nll, weights), (other_losses, other_nll, others) = found
    assert losses[2] < losses[0]
    np.testing.assert_allclose(other_losses, losses, rtol=1e-5)
    np.testing.assert_allclose(other_nll, nll, rtol=1e-5)
    for one, other in zip(others, weights, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


def chunked_case(kind):
    """A built model and a batch whose five positions two chunks do not divide."""
    stacks = [make_stack(1, 8, 2, 8, dropout=0.0, cross=cross) for cross in (False, True)]
    ids = np.random.default_rng(5).integers(4, 11, (3, 5)).astype("int32")
    lengths = np.array([5, 2, 3], "int32")
    batch = {"labels": ids, "weights": np.float32(np.arange(5) < lengths[:, None])}
    if kind == "language_model":
        model, inputs = LanguageModel(11, stacks[0], dropout=0.0), {"token_ids": ids[:, ::-1]}
    else:
        target = TokenEmbedding(11, 8, tied=False, output_bias=True) if kind == "own_output" else 11
        model = Transformer(11, target, *stacks, dropout=0.0)
        inputs = {"source_ids": ids, "source_lengths": lengths, "target_ids": ids[:, ::-1]}
    model.build()
    return model, batch | inputs


def test_sizes_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="positive number of chunks. Received: 0"):
        ChunkedCrossEntropy(0)
    with pytest.raises(ValueError, match="smoothing must lie in"):
        ChunkedCrossEntropy(2, smoothing=1.0)
