"""The moving average of the weights, computed by hand, is what is validated and kept."""

import keras
import numpy as np
import pytest

from tests.shared import once_more_on_jax
from tests.training import tiny
from zoo.training import SmoothedCrossEntropy, TrainingPlan, fit, make_steps
from zoo.training.loop import use_averages

DECAY = 0.7


def adam(**settings):
    return keras.optimizers.Adam(0.02, use_ema=True, ema_momentum=DECAY, **settings)


def followed(steps, updates=5):
    """The weights after the last update, and the averages by the formula."""
    mean = None
    for step in range(updates):
        steps.train(tiny.Batches(0).batch(step))
        steps.sync()
        weights = tiny.arrays(steps.model.trainable_variables)
        weights = [weight.copy() for weight in weights]
        mean = weights if mean is None else [DECAY * m + (1 - DECAY) * w for m, w in zip(mean, weights, strict=True)]
    return weights, mean


@pytest.mark.slow
@pytest.mark.release(but=1)
@pytest.mark.parametrize("scaled", [False, True])
def test_the_model_has_the_averages_for_a_while(scaled):
    optimizer = keras.optimizers.LossScaleOptimizer(adam()) if scaled else adam()
    steps = make_steps(tiny.ByName(), optimizer, SmoothedCrossEntropy())
    weights, mean = followed(steps)
    batch = tiny.Batches(9).batch(0)
    plain = np.asarray(steps.evaluate(batch))
    with use_averages(steps):
        for one, other in zip(tiny.arrays(steps.model.trainable_variables), mean, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
        assert not np.allclose(np.asarray(steps.evaluate(batch)), plain)
    for one, other in zip(tiny.arrays(steps.model.trainable_variables), weights, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(np.asarray(steps.evaluate(batch)), plain)


@pytest.mark.slow
def test_without_an_average_nothing_changes():
    steps = make_steps(tiny.ByName(), keras.optimizers.Adam(0.02), SmoothedCrossEntropy())
    steps.train(tiny.Batches(0).batch(0))
    steps.sync()
    before = [weight.copy() for weight in tiny.arrays(steps.model.trainable_variables)]
    with use_averages(steps):
        for one, other in zip(tiny.arrays(steps.model.trainable_variables), before, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.release
def test_a_run_keeps_the_averages_and_resumes_with_them(tmp_path):
    """What is kept of a validation is the average; what is trained on is not; and a resumed run ends the same."""

    def train(folder, steps, resume=False):
        made = make_steps(tiny.ByName(), adam(), SmoothedCrossEntropy())
        plan = TrainingPlan(steps=steps, validate_every=4, checkpoint_every=2)
        return made.model, fit(made, tiny.Batches(0), tiny.Batches(9), plan, folder, resume)

    whole, _ = train(tmp_path / "whole", 8)
    train(tmp_path / "parts", 6)
    again, state = train(tmp_path / "parts", 8, resume=True)
    for one, other in zip(tiny.arrays(whole.variables), tiny.arrays(again.variables), strict=True):
        np.testing.assert_array_equal(one, other)
    arrays = list(state.weights[8].values())
    _, mean = followed(make_steps(tiny.ByName(), adam(), SmoothedCrossEntropy()), 8)
    by_shape = {array.shape: array for array in arrays}
    for one in mean:
        assert one.shape in by_shape
    found = [
        array for array in arrays if any(array.shape == m.shape and np.allclose(array, m, 1e-4, 1e-5) for m in mean)
    ]
    assert len(found) == len(mean)


@pytest.mark.release
def test_the_same_on_jax():
    once_more_on_jax(__file__)
