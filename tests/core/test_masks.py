"""Masks come from lengths; a softmax under a mask is exactly 0 elsewhere, and finite everywhere."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from zoo.core.masks import ImplicitMasks, length_mask, masked_softmax


def test_length_mask():
    mask = ops.convert_to_numpy(length_mask(np.array([0, 2, 3, 9]), 3))
    expected = [[False] * 3, [True, True, False], [True] * 3, [True] * 3]
    np.testing.assert_array_equal(mask, expected)


def test_masked_softmax_is_a_softmax_of_what_is_kept():
    scores = np.array([[1.0, 5.0, -2.0], [50.0, -60.0, 1e4], [3.0, 3.0, 3.0]], "float32")
    mask = np.array([[True, False, True], [True, True, False], [False] * 3])
    weights = ops.convert_to_numpy(masked_softmax(ops.convert_to_tensor(scores), mask))
    kept = np.exp([1.0, -2.0]) / np.exp([1.0, -2.0]).sum()
    np.testing.assert_allclose(weights[0], [kept[0], 0.0, kept[1]], atol=1e-7)
    np.testing.assert_array_equal(weights[1:], [[1.0, 0.0, 0.0], [0.0] * 3])


def test_masked_softmax_of_one_position():
    scores = ops.convert_to_tensor(np.array([[7.0], [-1e9]], "float32"))
    np.testing.assert_array_equal(ops.convert_to_numpy(masked_softmax(scores)), [[1.0], [1.0]])
    mask = np.array([[True], [False]])
    np.testing.assert_array_equal(ops.convert_to_numpy(masked_softmax(scores, mask)), [[1.0], [0.0]])


def test_masked_softmax_in_low_precision():
    scores = ops.cast(np.linspace(-3, 3, 257, dtype="float32")[None], "bfloat16")
    weights = masked_softmax(scores)
    assert ops.dtype(weights) == "bfloat16"
    total = np.asarray(ops.cast(weights, "float32")).sum()
    assert abs(total - 1.0) < 0.01


def test_gradients_of_an_empty_row_are_finite():
    scores = tf.Variable(np.array([[1.0, 2.0], [3.0, 4.0]], "float32"))
    with tf.GradientTape() as tape:
        weights = masked_softmax(scores, np.array([[False, False], [True, False]]))
        loss = tf.reduce_sum(weights**2)
    np.testing.assert_array_equal(tape.gradient(loss, scores).numpy(), np.zeros((2, 2)))


def test_a_layer_that_takes_no_mask_is_told_so():
    with pytest.raises(
        ValueError, match=r"Deaf.call takes no mask.*Expected an argument 'mask' or 'x_mask', written out"
    ):

        class Deaf(ImplicitMasks, keras.layers.Layer):
            def call(self, x, **kwargs):
                return x
