"""Rows that a step has read move as lazy Adam says, all others stay bit for bit; on both backends the same.

A token that occurs twice has one gradient, the sum.
"""

import json

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from tests.shared import python
from tests.weights import randomised
from zoo.attention import MultiHeadAttention
from zoo.blocks import PreNorm
from zoo.depth import Stack, make_stack
from zoo.feedforward import ProductKeyMemory
from zoo.models import LanguageModel, Tagger
from zoo.training import RowAdam, SmoothedCrossEntropy, make_steps
from zoo.training.steps.optimizers import sum_by_slot

VOCABULARY, RATE = 13, 1e-2


def model(seed=1, norm="layer"):
    keras.utils.set_random_seed(seed)
    memories = [ProductKeyMemory(8, 23, 2, 3, 6, norm, seed=seed) for _ in range(2)]
    stack = Stack([PreNorm(MultiHeadAttention(8, 2), memory) for memory in memories])
    made = LanguageModel(VOCABULARY, stack, dropout=0.0)
    randomised(made, seed, 0.3)
    return made, memories


def batch(step):
    generator = np.random.default_rng(step)
    ids = generator.integers(0, VOCABULARY, (2, 8)).astype("int32")
    return {"token_ids": ids[:, :-1], "labels": ids[:, 1:], "weights": np.ones((2, 7), "float32")}


def trained(updates=2, optimizer=None):
    made, memories = model()
    steps = make_steps(made, optimizer or RowAdam(1e-3, RATE), SmoothedCrossEntropy())
    before = [ops.convert_to_numpy(memory.values).copy() for memory in memories]
    losses = [float(steps.train(batch(step))) for step in range(updates)]
    steps.sync()
    return made, memories, before, losses


def test_gradients_of_a_row_are_summed():
    slots, gradients = np.array([7, 2, 7, 7], "int32"), np.array([[1.0], [2.0], [4.0], [8.0]], "float32")
    found, sums = map(ops.convert_to_numpy, sum_by_slot(slots, gradients))
    np.testing.assert_array_equal(found, [2, 7, 7, 7])
    np.testing.assert_array_equal(sums[:, 0], [2.0, 13.0, 13.0, 13.0])


def test_other_variables_move_as_by_their_dense_gradients():
    """A gather, as of an embedding, gives TensorFlow's sparse gradients, in which a row may occur several times."""
    moved = []
    for is_sparse in (True, False):
        weight, optimizer = keras.Variable(np.ones((3, 2), "float32")), RowAdam(0.1)
        for values in ([[1.0, 2.0], [3.0, 4.0]], [[-1.0, 1.0], [0.5, 2.0]]):
            gradient = tf.IndexedSlices(tf.constant(values), tf.constant([0, 0]), tf.constant([3, 2]))
            optimizer.apply([gradient if is_sparse else tf.convert_to_tensor(gradient)], [weight])
        moved.append(ops.convert_to_numpy(weight))
    np.testing.assert_allclose(*moved, rtol=1e-6)


@pytest.mark.slow
def test_rows_that_were_read_move_and_no_others():
    """By Adam's first step, which is its rate times the sign of the gradient, wherever that is not tiny."""
    _, memories, before, _ = trained(1)
    for memory, old in zip(memories, before, strict=True):
        steps = np.abs(ops.convert_to_numpy(memory.values) - old)
        assert 0 < np.any(steps, axis=1).sum() <= 2 * 7 * 2 * 3  # batch, time, heads, k
        assert 0.5 * RATE < np.median(steps[steps > 0]) <= RATE * 1.01


class WholeAdam(keras.optimizers.Adam):
    """Keras' own squares the gradients of a row's copies before it sums them: on TensorFlow it is given whole ones."""

    def apply(self, grads, trainable_variables=None):
        if keras.backend.backend() == "tensorflow":
            grads = [tf.convert_to_tensor(grad) for grad in grads]
        super().apply(grads, trainable_variables)


@pytest.mark.slow
def test_equals_adam_where_all_rows_are_read():
    """And where its rate is that of the rest: lazy and full Adam differ in untouched rows alone."""
    found = []
    for optimizer in (RowAdam(RATE, RATE), WholeAdam(RATE)):
        keras.utils.set_random_seed(3)
        memory = ProductKeyMemory(6, 2, 2, 4, 6, "layer", seed=1)
        made = LanguageModel(VOCABULARY, Stack([PreNorm(MultiHeadAttention(6, 2), memory)]), dropout=0.0)
        made.build()
        steps = make_steps(made, optimizer, SmoothedCrossEntropy())
        for step in range(3):
            steps.train(batch(step))
        steps.sync()
        found.append([ops.convert_to_numpy(weight) for weight in made.trainable_weights])
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-3)  # of 3 steps of 1e-2


ON_JAX = """
import json, sys
from keras import ops
from tests.training.steps import test_optimizers as here
here.test_rows_that_were_read_move_and_no_others()
here.test_equals_adam_where_all_rows_are_read()
made, memories, before, losses = here.trained(4)
print(json.dumps([losses, [ops.convert_to_numpy(memory.values).tolist() for memory in memories]]))
"""


@pytest.mark.release
def test_jax_takes_the_same_steps():
    _, memories, _, losses = trained(4)
    done = python("-c", ON_JAX, KERAS_BACKEND="jax")
    other, values = json.loads(done.stdout.strip().splitlines()[-1])
    np.testing.assert_allclose(losses, other, atol=1e-4)
    for memory, expected in zip(memories, values, strict=True):
        received = ops.convert_to_numpy(memory.values)
        assert np.mean(np.abs(received - np.array(expected)) < 1e-3) > 0.999


def test_a_rate_is_needed():
    with pytest.raises(ValueError, match="positive row_learning_rate. Received: 0"):
        RowAdam(row_learning_rate=0)


@pytest.mark.slow
@pytest.mark.release(but=1)
@pytest.mark.parametrize("make", [keras.optimizers.Adam, RowAdam])
def test_the_first_update_of_adam_is_the_sign_of_the_gradient(make):
    """`m / sqrt(v) = g / |g|`, whatever the gradient; with a sum of squares in `v` it would be less."""
    keras.utils.set_random_seed(1)
    model = Tagger(7, 3, make_stack(1, units=4, num_heads=2, hidden_units=8, dropout=0.0), dropout=0.0)
    model.build()
    steps = make_steps(model, make(0.01, epsilon=1e-12), SmoothedCrossEntropy())
    before = ops.convert_to_numpy(model.embedding.matrix).copy()
    ids = np.array([[5, 5, 2, 5]], "int32")
    steps.train(
        {
            "token_ids": ids,
            "lengths": np.array([4], "int32"),
            "labels": np.array([[0, 1, 2, 1]], "int32"),
            "weights": np.ones((1, 4), "float32"),
        }
    )
    steps.sync()
    moved = np.abs(ops.convert_to_numpy(model.embedding.matrix) - before)
    np.testing.assert_allclose(moved[[2, 5]], 0.01, rtol=1e-3)
    assert (moved[[0, 1, 3, 4, 6]] == 0).all()
