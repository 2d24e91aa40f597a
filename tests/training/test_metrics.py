"""Per-token sums against NumPy."""

import math

import numpy as np
import pytest

from zoo.training import summarise, token_sums


def test_sums_count_only_weighted_positions():
    logits = np.log(np.array([[[0.5, 0.25, 0.25], [0.1, 0.1, 0.8], [1.0, 1.0, 1.0]]]))
    labels = np.array([[0, 1, 2]])
    sums = np.asarray(token_sums(labels, logits.astype("float32"), np.float32([[1, 1, 0]])))
    np.testing.assert_allclose(sums, [-math.log(0.5) - math.log(0.1), 1, 2], rtol=1e-6)


def test_a_non_finite_padding_stays_out():
    logits = np.zeros((1, 2, 3), "float32")
    logits[0, 1] = np.nan
    sums = np.asarray(token_sums(np.zeros((1, 2)), logits, np.float32([[1, 0]])))
    np.testing.assert_allclose(sums, [math.log(3), 1, 1], rtol=1e-6)


def test_summary():
    scores = summarise(2 * math.log(5), 1.0, 2.0)
    assert scores == {"nll": math.log(5), "perplexity": pytest.approx(5), "accuracy": 0.5}
    assert summarise(1e6, 0.0, 1.0)["perplexity"] == math.inf


def test_an_empty_validation_set_is_refused():
    with pytest.raises(ValueError, match="at least one token"):
        summarise(0.0, 0.0, 0.0)
