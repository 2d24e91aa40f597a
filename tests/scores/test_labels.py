"""Accuracy, macro F1 and confusions against scikit-learn's numbers and against the definition."""

import json
from statistics import mean

import numpy as np
import pytest
from hypothesis import given, strategies as st

from tests.scores import samples
from zoo.scores import classification, confusion

# sklearn.metrics.f1_score(references, outputs, average="macro") of scikit-learn 1.9.1, times 100.
MACRO_F1 = {1: 65.04262812, 2: 57.80861248, 3: 54.39120909}
# precision_recall_fscore_support(references, outputs) for seed 1.
BY_LABEL = [
    [0.75, 0.61538462, 0.6, 0.72727273, 0.57142857],
    [0.64285714, 0.8, 0.66666667, 0.5, 0.72727273],
    [0.69230769, 0.69565217, 0.63157895, 0.59259259, 0.64],
    [14, 10, 9, 16, 11],
]


@pytest.mark.parametrize("seed", MACRO_F1)
def test_macro_f1_is_that_of_scikit_learn(seed):
    outputs, references = samples.labels(seed)
    found = classification(outputs, references)
    assert found["macro_f1"] == pytest.approx(MACRO_F1[seed], abs=1e-6)
    assert found["count"] == 60 and json.loads(json.dumps(found)) == found


def test_each_label_has_its_row():
    rows = classification(*samples.labels(1))["by_label"]
    assert [row["label"] for row in rows] == ["l0", "l1", "l2", "l3", "l4"]
    for key, column in zip(("precision", "recall", "f1"), BY_LABEL, strict=False):
        assert [row[key] / 100 for row in rows] == pytest.approx(column, abs=1e-6)
    assert [row["count"] for row in rows] == BY_LABEL[3]


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("abcd")), min_size=1, max_size=30))
def test_scores_by_their_definition(pairs):
    outputs, references = map(list, zip(*pairs, strict=True))
    found = classification(outputs, references, resamples=2)

    def f1(name):
        hits = sum(one == other == name for one, other in pairs)
        return 2 * hits / (outputs.count(name) + references.count(name))

    assert found["macro_f1"] == pytest.approx(100 * mean(f1(name) for name in {*outputs, *references}))
    assert found["accuracy"] == pytest.approx(100 * mean(one == other for one, other in pairs))
    names, matrix = confusion(outputs, references)
    for row, true in enumerate(names):
        for column, output in enumerate(names):
            assert matrix[row, column] == pairs.count((output, true))


def test_labels_come_in_the_order_that_is_asked_for():
    names, matrix = confusion(["b", "x", "b"], ["b", "a", "a"], labels=["b", "c", "a"])
    assert names == ["b", "c", "a", "x"]
    assert np.array_equal(matrix, [[1, 0, 0, 0], [0, 0, 0, 0], [1, 0, 0, 1], [0, 0, 0, 0]])
    found = classification(["b", "x", "b"], ["b", "a", "a"], labels=["b", "c", "a"])
    assert [row["label"] for row in found["by_label"]] == names
    # The label "c" occurs nowhere, so it is no part of the mean: (2/3 + 0 + 0) / 3.
    assert found["macro_f1"] == pytest.approx(200 / 9)


def test_many_labels_cost_no_row_for_each_example():
    outputs, references = samples.labels(5, kinds=150, count=3000, right=0.9)
    found = classification(outputs, references)
    low, high = found["macro_f1_interval"]
    assert low < found["macro_f1"] < high < low + 5
