"""From a recipe to its optimizer and plan."""

import keras
import numpy as np
import pytest

from tests.recipes.small import recipe
from zoo.recipes.optimisation import make_optimizer, make_plan


def test_weight_decay_shrinks_matrices_and_leaves_biases_and_norms_alone():
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2), keras.layers.LayerNormalization()])
    for variable in model.trainable_variables:
        variable.assign(np.full(variable.shape, 2.0))
    optimizer = make_optimizer(recipe(training={"learning_rate": 0.1, "weight_decay": 0.5}))
    optimizer.build(model.trainable_variables)
    zeros = [keras.ops.zeros_like(variable) for variable in model.trainable_variables]
    optimizer.apply(zeros, model.trainable_variables)
    kernel, *rest = (np.array(variable.value, copy=None) for variable in model.trainable_variables)
    np.testing.assert_allclose(kernel, 2.0 * (1 - 0.1 * 0.5), rtol=1e-6)
    for value in rest:
        assert (value == 2.0).all()


@pytest.mark.parametrize(("clip_norm", "expected"), [(0.0, None), (2.0, 2.0)])
def test_settings_reach_the_optimizer(clip_norm, expected):
    optimizer = make_optimizer(recipe(training={"clip_norm": clip_norm, "adam_beta_2": 0.98, "schedule": "constant"}))
    assert optimizer.global_clipnorm == expected and optimizer.beta_2 == 0.98 and optimizer.weight_decay is None


def test_the_plan_is_the_recipes():
    plan = make_plan(recipe(training={"steps": 8, "average": 3, "patience": 2, "monitor": "accuracy"}))
    assert (plan.steps, plan.keep, plan.patience, plan.monitor) == (8, 3, 2, "accuracy")
