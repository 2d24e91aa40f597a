"""Schedules against their formulas, in plain Python."""

import math

import keras
import numpy as np
import pytest

from zoo.training import ConstantRate, CosineDecay, InverseSquareRoot, LinearDecay, schedule


def values(rate, steps):
    return np.array([float(rate(step)) for step in steps])


def test_noam_is_equation_3_of_the_paper():
    paper = [512**-0.5 * min(t**-0.5, t * 4000**-1.5) for t in (1, 100, 4000, 4001, 100_000)]
    rate = InverseSquareRoot.noam(units=512, warmup=4000)
    np.testing.assert_allclose(values(rate, (0, 99, 3999, 4000, 99_999)), paper, rtol=1e-6)


def test_warmup_then_decay():
    steps = (0, 4, 9, 10, 34, 59, 200)
    rise = [0.02, 0.1, 0.2]
    left = [1 - u for u in (1 / 50, 25 / 50, 1.0, 1.0)]
    np.testing.assert_allclose(values(LinearDecay(0.2, 10, 60), steps), rise + [0.2 * u for u in left], atol=1e-7)
    cosine = [0.2 * (0.1 + 0.9 * (1 - math.cos(math.pi * u)) / 2) for u in left]
    np.testing.assert_allclose(values(CosineDecay(0.2, 10, 60, floor=0.1), steps), rise + cosine, rtol=1e-5)
    np.testing.assert_allclose(values(ConstantRate(0.2, 10), steps), rise + [0.2] * 4, rtol=1e-6)


@pytest.mark.parametrize("name", ["constant", "inverse_sqrt", "linear", "cosine"])
def test_by_name_without_warmup_and_through_its_config(name):
    rate = schedule(name, 0.3, 0, 50)
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(rate))
    assert type(again) is type(rate)
    np.testing.assert_array_equal(values(again, (0, 20)), values(rate, (0, 20)))
    assert 0.29 < float(rate(0)) <= 0.3 + 1e-6


def test_wrong_settings_are_refused():
    with pytest.raises(ValueError, match="unknown schedule 'noam'; expected constant, inverse_sqrt"):
        schedule("noam", 1.0, 1, 10)
    with pytest.raises(ValueError, match="expected steps > warmup"):
        schedule("cosine", 1.0, 10, 10)
    with pytest.raises(ValueError, match="peak > 0"):
        ConstantRate(0.0)
