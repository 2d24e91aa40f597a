"""A training in bfloat16 on JAX of a layer whose products XLA refuses in float32, and which holds a solver.

python -m tests.training.steps.test_refused    # on JAX; the test runs it
"""

import warnings

import keras
import numpy as np
import pytest
from keras import layers, ops

from tests.shared import python
from tests.weights import of_policy
from zoo.core.registry import register
from zoo.training import SmoothedCrossEntropy, make_steps

WORDS, UNITS = 11, 16


@register
class Turned(layers.Layer):
    """`x` mixed with `w^T x^T`, whose first factor is a transposed one, and with the solution of a linear system."""

    def build(self, shape):
        self.w = self.add_weight(shape=(UNITS, UNITS), initializer=keras.initializers.RandomNormal(seed=3), name="w")

    def call(self, x):
        mixed = ops.matmul(ops.transpose(self.w), ops.swapaxes(x, 1, 2))
        system = ops.cast(ops.matmul(ops.transpose(self.w), self.w), "float32") + ops.eye(UNITS)
        solved = ops.solve(
            ops.broadcast_to(system, (ops.shape(x)[0], UNITS, UNITS)), ops.swapaxes(ops.cast(x, "float32"), 1, 2)
        )
        return x + ops.swapaxes(mixed + ops.cast(solved, mixed.dtype), 1, 2)


class Small(keras.Model):
    def __init__(self):
        super().__init__()
        self.embedding = layers.Embedding(WORDS, UNITS, embeddings_initializer=keras.initializers.RandomNormal(seed=1))
        self.turned = Turned()
        self.readout = layers.Dense(WORDS, kernel_initializer=keras.initializers.RandomNormal(seed=2))

    def call(self, inputs, training=False):
        return ops.cast(self.readout(self.turned(self.embedding(inputs["token_ids"]))), "float32")


def batch(step, rows=4):
    ids = np.random.default_rng(step).integers(0, WORDS, (rows, 6)).astype("int32")
    return {"token_ids": ids, "labels": ids, "weights": np.ones(ids.shape, "float32")}


def trained(policy):
    """(losses, weights, warnings) of steps of two shapes."""
    with of_policy(policy):
        model = Small()
        model(batch(0))
    steps = make_steps(model, keras.optimizers.Adam(0.01), SmoothedCrossEntropy())
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        losses = [float(steps.train(batch(step, 4 + step // 3))) for step in range(6)]
    correct = np.asarray(steps.evaluate(batch(9)))
    steps.sync()
    assert steps.expected_memory(batch(0)) and np.isfinite(correct).all()
    return losses, model.get_weights(), [str(each.message) for each in told if "XLA refuses" in str(each.message)]


def main():
    wide, exact, _ = trained("float32")
    narrow, found, told = trained("mixed_bfloat16")
    assert len(told) in (0, 2), told  # once for each shape, where this processor's XLA refuses it
    np.testing.assert_allclose(narrow, wide, rtol=0.02)
    assert wide[-1] < wide[0] - 0.05
    for one, other in zip(found, exact, strict=True):
        np.testing.assert_allclose(one, other, atol=0.02)


@pytest.mark.slow
def test_a_refused_step_is_computed_as_it_was_written_and_nothing_is_lost():
    python("-m", "tests.training.steps.test_refused", KERAS_BACKEND="jax")


if __name__ == "__main__":
    main()
