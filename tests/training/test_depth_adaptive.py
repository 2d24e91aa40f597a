"""The loss of the Depth-Adaptive Transformer against its equations, and compiled updates that teach a rule of exit."""

import keras
import numpy as np
import pytest
from keras import ops

from zoo.depth import GeometricExit, make_depth_adaptive_stack, make_stack
from zoo.models import DepthAdaptiveTransformer
from zoo.training import DepthAdaptiveLoss, make_steps

RANDOM = np.random.default_rng(3)
LOGITS, LABELS = RANDOM.normal(size=(3, 4, 5, 7)).astype("float32") * 3, RANDOM.integers(0, 7, (3, 5))
WEIGHTS = (np.arange(5) < np.array([5, 2, 0])[:, None]).astype("float32")


def log_softmax(z):
    return z - np.log(np.exp(z).sum(axis=-1, keepdims=True))


def expected_loss(log_exits, oracle, price, width, alpha, smoothing=0.0, factors=(1, 1, 1, 1)):
    """Loops over rows, depths and tokens, in the paper's order."""
    logs, tokens = log_softmax(LOGITS.astype("float64")), WEIGHTS.sum()
    decoding = extra = 0.0
    for row in range(3):
        length = int(WEIGHTS[row].sum())
        worth = np.zeros((length, 4))
        for t in range(length):
            for n in range(4):
                p = logs[row, n, t]
                decoding -= factors[n] * ((1 - smoothing) * p[LABELS[row, t]] + smoothing * p.mean())
                right = float(p.argmax() == LABELS[row, t])
                worth[t, n] = p[LABELS[row, t]] if oracle == "likelihood" else right
        cost = price * np.arange(1, 5)
        if log_exits.shape[1] == 1:
            extra -= log_exits[row, 0, np.argmax(worth.sum(axis=0) - cost)] if length else 0.0
            continue
        for t in range(length):
            near = [np.exp(-((t - s) ** 2) / width) if width else float(s == t) for s in range(length)]
            extra -= log_exits[row, t, np.argmax(np.array(near) @ worth - cost)]
    return (decoding / sum(factors) + alpha * extra) / tokens


@pytest.mark.parametrize("oracle", ["likelihood", "correctness"])
@pytest.mark.parametrize(("time", "width"), [(1, 0.0), (5, 0.0), (5, 2.0)])
def test_is_the_papers_loss(oracle, time, width):
    log_exits = log_softmax(RANDOM.normal(size=(3, time, 4))).astype("float32")
    loss = DepthAdaptiveLoss(oracle, price=0.3, width=width, alpha=0.7)
    received = loss(LABELS, {"logits": LOGITS, "log_exits": log_exits}, sample_weight=WEIGHTS)
    assert float(received) == pytest.approx(expected_loss(log_exits, oracle, 0.3, width, 0.7), rel=1e-5)
    again = DepthAdaptiveLoss.from_config(loss.get_config())
    assert float(again(LABELS, {"logits": LOGITS, "log_exits": log_exits}, sample_weight=WEIGHTS)) == float(received)


def test_depths_are_weighed_and_labels_smoothed():
    log_exits = np.zeros((3, 5, 4), "float32")
    loss = DepthAdaptiveLoss(alpha=0.0, smoothing=0.2, depth_weights=[1, 0, 2, 5])
    received = loss(LABELS, {"logits": LOGITS, "log_exits": log_exits}, sample_weight=WEIGHTS)
    expected = expected_loss(log_exits, "likelihood", 0, 0, 0.0, 0.2, (1, 0, 2, 5))
    assert float(received) == pytest.approx(expected, rel=1e-5)
    assert float(loss(LABELS, {"logits": LOGITS}, sample_weight=0 * WEIGHTS)) == 0.0


def test_the_oracle_is_a_constant_and_the_exit_loss_is_not():
    """The logits get no gradient through it; the rule's chances do, and through them the states."""
    import tensorflow as tf

    logits, log_exits = tf.constant(LOGITS), tf.constant(log_softmax(RANDOM.normal(size=(3, 5, 4))))
    loss = DepthAdaptiveLoss("likelihood", price=0.3, alpha=0.5)
    found = {}
    for alpha in (0.0, 0.5):
        loss.alpha = alpha
        with tf.GradientTape() as tape:
            tape.watch([logits, log_exits])
            value = loss(LABELS, {"logits": logits, "log_exits": tf.cast(log_exits, "float32")}, WEIGHTS)
        found[alpha] = [tf.convert_to_tensor(each).numpy() for each in tape.gradient(value, [logits, log_exits])]
    np.testing.assert_allclose(found[0.0][0], found[0.5][0])
    assert not found[0.0][1].any() and np.abs(found[0.5][1]).max() > 1e-3


def test_the_exit_loss_reaches_the_blocks():
    import tensorflow as tf

    model, batch = made(GeometricExit(3))
    with tf.GradientTape() as tape:
        chances = model({k: v for k, v in batch.items() if k not in ("labels", "weights")}, training=True)["log_exits"]
        value = -tf.reduce_sum(chances[:, :, 2])
    gradients = tape.gradient(
        value, [model.decoder.blocks[1].feedforward.hidden.kernel.value, model.encoder.weights[0]]
    )
    assert all(gradient is not None and np.abs(gradient.numpy()).max() > 1e-4 for gradient in gradients)


def made(rule, paths=0):
    keras.utils.set_random_seed(4)
    decoder = make_depth_adaptive_stack(3, 8, 2, 16, rule, paths=paths, dropout=0.0, seed=1)
    model = DepthAdaptiveTransformer(11, 11, make_stack(1, 8, 2, 16, dropout=0.0), decoder, dropout=0.0)
    model.build()
    random = np.random.default_rng(2)
    ids = random.integers(4, 11, (6, 4)).astype("int32")
    inputs = np.concatenate([np.full((6, 1), 2), ids], axis=1).astype("int32")
    labels = np.concatenate([ids, np.full((6, 1), 3)], axis=1).astype("int32")
    lengths = np.full(6, 4, "int32")
    batch = {"source_ids": ids, "source_lengths": lengths, "target_ids": inputs, "labels": labels}
    return model, {**batch, "weights": np.ones((6, 5), "float32")}


@pytest.mark.release
@pytest.mark.parametrize(("rule", "paths"), [(GeometricExit, 0), (None, 2)])
def test_compiled_updates_learn_when_to_leave(rule, paths):
    """A layer that costs much is not worth it: all leave behind the first block; the loss of all depths falls."""
    model, batch = made(rule and rule(3), paths)
    steps = make_steps(model, keras.optimizers.Adam(0.02), DepthAdaptiveLoss(price=100.0, alpha=1.0))
    first = float(steps.train(batch))
    for _ in range(25):
        last = float(steps.train(batch))
    assert last < 0.7 * first
    sums = ops.convert_to_numpy(steps.evaluate(batch))
    assert sums.shape == (3,) and sums[2] == 30
    steps.sync()
    exits = ops.convert_to_numpy(
        model.think({k: v for k, v in batch.items() if k not in ("labels", "weights")})["exits"]
    )
    assert (exits == (1 if rule else 3)).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"oracle": "BLEU"}, r"one of \('likelihood', 'correctness'\), received 'BLEU'"),
        ({"price": -1.0}, "Received: price=-1.0"),
        ({"smoothing": 1.0}, "smoothing=1.0"),
    ],
)
def test_settings_are_checked(settings, message):
    with pytest.raises(ValueError, match=message):
        DepthAdaptiveLoss(**settings)


def test_the_number_of_weights_is_checked():
    with pytest.raises(ValueError, match=r"each of the 4 depths. Received: \[1, 2\]"):
        DepthAdaptiveLoss(depth_weights=[1, 2])(LABELS, {"logits": LOGITS})
