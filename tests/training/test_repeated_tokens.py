"""A token that occurs twice has one gradient, the sum."""

import keras
import numpy as np
import pytest
from keras import ops

from zoo.depth import make_stack
from zoo.models import Tagger
from zoo.training import RowAdam, SmoothedCrossEntropy, make_steps


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
