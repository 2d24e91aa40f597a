"""Rank correlation of similarities against its definition, example by example."""

import tracemalloc

import numpy as np
import pytest

from zoo.scores import RESAMPLES, cosines, influence_on_difference, partner_ranks, report, similarity, similarity_scores


def ranks(values):
    """1 + how many are smaller + half of how many others are equal."""
    return [
        1 + sum(other < one for other in values) + (sum(other == one for other in values) - 1) / 2 for one in values
    ]


def pearson(one, other):
    one, other = np.array(one) - np.mean(one), np.array(other) - np.mean(other)
    below = np.sqrt((one @ one) * (other @ other))
    return 100 * (one @ other) / below if below > 1e-9 else np.nan


def drawn(seed, count=41, levels=6):
    generator = np.random.default_rng(seed)
    references = generator.integers(levels, size=count) / 2
    return references + generator.normal(size=count).round(1), references  # with equal numbers on both sides


@pytest.mark.parametrize("seed", range(4))
def test_correlations_are_those_of_the_definition(seed):
    outputs, references = drawn(seed)
    found = similarity(outputs.tolist(), [str(each) for each in references])
    assert found["spearman"] == pytest.approx(pearson(ranks(outputs), ranks(references)), abs=1e-9)
    assert found["pearson"] == pytest.approx(pearson(outputs, references), abs=1e-9)
    assert found["count"] == 41


def test_each_resample_is_ranked_anew():
    """The interval is that of the correlations of the resamples, each of which is written out here."""
    outputs, references = drawn(7, 23)
    chosen = np.random.default_rng(5).integers(23, size=(RESAMPLES, 23), dtype="int32")
    each = [pearson(ranks(outputs[rows]), ranks(references[rows])) for rows in chosen]
    found = similarity(outputs, references, seed=5)
    assert found["spearman_interval"] == pytest.approx(np.quantile(each, [0.025, 0.975]).tolist(), abs=1e-9)


def test_a_group_is_ranked_by_itself():
    outputs, references = drawn(3)
    score, rows = similarity_scores(outputs, references)[0], [4, 9, 2, 30, 31, 17]
    assert score.take(rows).total == pytest.approx(pearson(ranks(outputs[rows]), ranks(references[rows])), abs=1e-9)


def test_what_cannot_be_ranked_is_told():
    for outputs, references in (([0.5] * 4, [1, 2, 3, 4]), ([0.1, 0.2], [1, 1]), ([0.3], [2])):
        found = similarity(outputs, references)
        assert "spearman" not in found and "all numbers are equal" in found["missing"]["spearman"]


def test_the_pair_that_is_most_out_of_order_tells_two_systems_apart():
    references = np.arange(20.0)
    worse = references.copy()
    worse[[3, 17]] = worse[[17, 3]]
    first, second = (similarity_scores(each, references)[0] for each in (worse, references))
    assert sorted(np.argsort(-influence_on_difference(first, second))[:2].tolist()) == [3, 17]


def test_cosines_of_empty_vectors_are_zero():
    assert cosines([(), (0.0, 0.0), (3.0, 4.0)], [(1.0,), (1.0, 0.0), (4.0, 3.0)]).tolist() == pytest.approx(
        [0, 0, 0.96]
    )


def test_what_is_no_number_has_no_rank():
    found = similarity([0.1, np.nan, 0.3, 0.5], [1, 5, 2, 2])
    assert "spearman" not in found and "one is nan" in found["missing"]["spearman"]
    first, second = [[1.0, 0.0], [np.nan, 1.0], [0.0, 1.0]], [[3.0, 0.1], [2.0, 0.0], [0.0, 1.0]]
    assert partner_ranks(first, second) == [2, 2, 1]
    assert partner_ranks(second[:1] + first[1:2] + second[2:], first) == [1, 2, 1]


def test_a_group_costs_what_it_holds_and_not_what_the_whole_does():
    outputs, references = drawn(3, 3000)
    groups = [score.take(range(5, 17)) for score in similarity_scores(outputs, references)]
    tracemalloc.start()
    report(groups)
    assert tracemalloc.get_traced_memory()[1] < 20e6
    tracemalloc.stop()
    again = groups[0].take([3, 3, 0])
    assert [len(each.statistics) for each in (*groups, again)] == [12, 12, 2] and again.count == 3
    assert again.total == pytest.approx(pearson(ranks(outputs[[8, 8, 5]]), ranks(references[[8, 8, 5]])), abs=1e-9)
