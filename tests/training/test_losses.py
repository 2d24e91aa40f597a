"""The loss against NumPy, written from its definition."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from zoo.training import SmoothedCrossEntropy
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
