"""Temperatures against all that could be chosen, and the error of confidences by its definition."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from zoo.scores import calibration_error, fit_temperature, reliability


def loss(logits, labels, temperature):
    """The mean negative log-likelihood of Platt's smoothed labels."""
    scaled = logits / temperature
    log_p = scaled - np.log(np.exp(scaled).sum(axis=1, keepdims=True))
    smooth = 1 / (len(labels) + 2)
    targets = (1 - smooth) * np.eye(logits.shape[1])[labels] + smooth / logits.shape[1]
    return -(targets * log_p).sum(axis=1).mean()


@pytest.mark.parametrize("seed", range(4))
def test_no_temperature_is_better(seed):
    generator = np.random.default_rng(seed)
    logits, labels = 3 * generator.normal(size=(60, 4)), generator.integers(4, size=60)
    found = fit_temperature(logits, labels)
    others = np.geomspace(0.05, 20, 2000)
    assert loss(logits, labels, found) <= min(loss(logits, labels, each) for each in others) + 1e-9


@pytest.mark.parametrize("temperature", [0.4, 1.0, 3.0])
def test_logits_that_are_too_sure_are_found_out(temperature):
    """Labels are drawn by the probabilities of the logits, which are then multiplied."""
    generator = np.random.default_rng(7)
    logits = 2 * generator.normal(size=(20_000, 5))
    labels = np.argmax(logits + generator.gumbel(size=logits.shape), axis=1)
    assert fit_temperature(temperature * logits, labels) == pytest.approx(temperature, rel=0.03)


def test_a_validation_without_a_mistake_does_not_ask_for_certainty():
    labels = np.arange(60) % 3
    found = fit_temperature(9 * np.eye(3)[labels], labels)
    probability = 1 / (1 + 2 * np.exp(-9 / found))
    assert probability == pytest.approx(1 - 2 / 3 / 62, abs=1e-6)  # the smoothed label


@pytest.mark.parametrize(("logits", "labels"), [(np.zeros((0, 3)), []), (np.zeros((2, 3)), [1]), (np.zeros(3), [1])])
def test_what_cannot_be_fitted_is_refused(logits, labels):
    with pytest.raises(ValueError, match="a label for each example; received the shapes"):
        fit_temperature(logits, labels)


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), max_size=30), st.integers(1, 20))
def test_the_error_is_the_weighted_distance_of_the_bins(examples, bins):
    groups = {}
    for confidence, right in examples:
        groups.setdefault(min(int(confidence * bins), bins - 1), []).append((confidence, right))
    means = [(len(each), *np.mean(each, axis=0)) for each in groups.values()]
    expected = sum(count * abs(confidence - right) for count, confidence, right in means) / max(1, len(examples))
    confidences, right = [one for one, _ in examples], [one for _, one in examples]
    assert calibration_error(confidences, right, bins) == pytest.approx(expected)
    assert sum(each["count"] for each in reliability(confidences, right, bins)) == len(examples)
