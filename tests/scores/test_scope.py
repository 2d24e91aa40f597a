"""Out-of-scope recall by its definition, and thresholds against all that could be chosen."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from zoo.scores import choose_threshold, out_of_scope, with_threshold

OUTPUTS = ["pay", "oos", "call", "pay", "oos", "pay"]
REFERENCES = ["pay", "pay", "call", "oos", "oos", "oos"]
PAIRS = st.tuples(
    st.sampled_from(["x", "y", "oos"]), st.sampled_from(["x", "y", "oos"]), st.sampled_from([0, 0.1, 0.5, 1])
)


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
