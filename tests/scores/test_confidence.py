"""Temperatures against all that could be chosen, and the error of confidences by its definition."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from zoo.scores import calibration_error, choose_threshold, fit_temperature, out_of_scope, reliability, with_threshold

OUTPUTS = ["pay", "oos", "call", "pay", "oos", "pay"]
REFERENCES = ["pay", "pay", "call", "oos", "oos", "oos"]
PAIRS = st.tuples(
    st.sampled_from(["x", "y", "oos"]), st.sampled_from(["x", "y", "oos"]), st.sampled_from([0, 0.1, 0.5, 1])
)


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


def test_a_trained_label():
    """In scope 2 of 3 are right (one is given up); out of scope 1 of 3 is recognised, and 1 of 2 that are given up."""
    found = out_of_scope(OUTPUTS, REFERENCES)
    assert found["in_scope_accuracy"] == pytest.approx(200 / 3) and found["out_of_scope_precision"] == 50
    assert found["out_of_scope_recall"] == pytest.approx(100 / 3) and found["accuracy"] == 50
    assert found["out_of_scope"] == 3 and found["count"] == 6 and "threshold" not in found
    low, high = found["out_of_scope_recall_interval"]
    assert low == 0 and 60 < high <= 100


def test_a_threshold():
    outputs, confidences = ["pay", "pay", "call", "pay", "call", "pay"], [0.9, 0.8, 0.35, 0.3, 0.2, 0.7]
    found = out_of_scope(outputs, REFERENCES, confidences, threshold=0.4)
    assert found["in_scope_accuracy"] == pytest.approx(200 / 3) and found["threshold"] == 0.4
    assert found["out_of_scope_recall"] == pytest.approx(200 / 3)
    assert "out_of_scope_precision" not in out_of_scope(outputs, REFERENCES, confidences, threshold=0.1)


def right(outputs, references, confidences, threshold):
    given = with_threshold(outputs, confidences, threshold)
    return sum(one == other for one, other in zip(given, references, strict=True))


@given(st.lists(PAIRS, min_size=1, max_size=12))
def test_no_threshold_is_better_and_no_lower_one_as_good(triples):
    outputs, references, confidences = zip(*triples, strict=True)
    chosen = choose_threshold(outputs, references, confidences)
    scores = {float(other): right(outputs, references, confidences, other) for other in np.linspace(0, 1, 41)}
    best = right(outputs, references, confidences, chosen)
    assert best == max(scores.values()) and 0 <= chosen <= 1
    below = [confidence for confidence in confidences if confidence < chosen]
    assert not below or right(outputs, references, confidences, max(below)) < best


def test_other_labels_may_be_out_of_scope():
    found = out_of_scope(["a", "none"], ["a", "none"], label="none")
    assert found["out_of_scope_recall"] == found["in_scope_accuracy"] == 100


def test_what_cannot_be_scored_is_refused():
    with pytest.raises(ValueError, match="labelled 'oos'; received 0 out of scope among 1"):
        out_of_scope(["a"], ["a"])
    with pytest.raises(
        ValueError, match="a probability from 0 to 1 for each of the 6 outputs; received .* shape \\(0,\\)"
    ):
        out_of_scope(OUTPUTS, REFERENCES, threshold=0.5)
    with pytest.raises(ValueError, match="from 0.5 to 7.0"):
        choose_threshold(["a", "b"], ["a", "b"], [0.5, 7])
