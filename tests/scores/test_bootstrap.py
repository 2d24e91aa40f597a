"""Intervals against the binomial law and simulations; resamples against corpora that are put together by hand."""

import numpy as np
import pytest
from sacrebleu import metrics

from tests.scores import samples
from zoo.scores import (
    Score,
    bootstrap_replicates,
    influence_on_difference,
    interval,
    labels,
    paired_bootstrap,
    report,
    translation_scores,
)
from zoo.scores.bootstrap import ratio

ACCURACY = ratio(100)


def accuracy(right):
    return Score("accuracy", np.stack([right, np.ones(len(right))], axis=1), ACCURACY)


def frequencies(count, resamples, seed=0):
    """How often each example is drawn: the score whose statistics are the examples themselves."""
    return bootstrap_replicates([Score("drawn", np.eye(count), lambda sums: sums)], resamples, seed)[0]


def test_a_resample_draws_as_many_examples_as_there_are_and_each_as_often():
    drawn = frequencies(50, 4000)
    assert (drawn.sum(axis=1) == 50).all() and drawn.min() == 0
    assert drawn.mean(axis=0) == pytest.approx(np.ones(50), abs=0.08)  # five standard errors
    assert drawn.var() == pytest.approx(1 - 1 / 50, abs=0.03)  # of the multinomial law
    assert (frequencies(50, 10) == drawn[:10]).all() and (frequencies(50, 10, seed=1) != drawn[:10]).any()


def test_a_resample_is_scored_as_the_corpus_that_it_is():
    outputs, references = samples.sentences(1)
    scores = translation_scores(outputs, references, "en")
    values = dict(zip((score.name for score in scores), bootstrap_replicates(scores, 5), strict=True))
    for number, drawn in enumerate(frequencies(len(outputs), 5).astype(int)):
        both = [[line for line, times in zip(side, drawn, strict=True) for _ in range(times)]
                for side in (outputs, references)]  # fmt: skip
        for name, metric in (("bleu", metrics.BLEU()), ("chrf", metrics.CHRF()), ("ter", metrics.TER())):
            assert values[name][number] == pytest.approx(metric.corpus_score(both[0], [both[1]]).score, rel=1e-12)


def test_a_resample_of_labels_is_scored_as_the_labels_that_it_has():
    outputs, references = samples.labels(1, kinds=9, count=20)  # so that some labels are missing from a resample
    scores = labels.classification_scores(outputs, references)
    values = bootstrap_replicates(scores, 20)
    for number, drawn in enumerate(frequencies(20, 20).astype(int)):
        both = [np.repeat(side, drawn).tolist() for side in (outputs, references)]
        for score, found in zip(labels.classification_scores(*both), values, strict=True):
            assert found[number] == pytest.approx(score.total, rel=1e-12)


def test_chunks_are_one_and_the_same_bootstrap(monkeypatch):
    score = accuracy(np.arange(200) % 3 > 0)
    whole = bootstrap_replicates([score], 300)[0]
    monkeypatch.setattr("zoo.scores.bootstrap.DRAWS", 1000)
    assert bootstrap_replicates([score], 300)[0].std() == pytest.approx(whole.std(), rel=0.2)
    assert len(set(bootstrap_replicates([score], 300)[0])) > 20


def test_the_spread_is_that_of_the_binomial_law():
    values = bootstrap_replicates([accuracy(np.arange(500) < 400)], 8000)[0]
    expected = 100 * np.sqrt(0.8 * 0.2 / 500)
    assert values.std() == pytest.approx(expected, rel=0.04) and values.mean() == pytest.approx(80, abs=0.1)
    low, high = interval(values)
    assert (high - low) / 2 == pytest.approx(1.96 * expected, rel=0.06)


def covered(draw, total, trials=300, resamples=300):
    """Share of the trials whose interval has the total of the population in it."""
    generator = np.random.default_rng(0)
    hits = 0
    for trial in range(trials):
        low, high = interval(bootstrap_replicates([draw(generator)], resamples, seed=trial)[0])
        hits += low <= total <= high
    return hits / trials


def test_the_interval_of_an_accuracy_covers_the_truth_in_95_of_100_cases():
    share = covered(lambda generator: accuracy(generator.random(200) < 0.8), 80)
    assert 0.915 <= share <= 0.98  # 0.95 within three standard errors of 300 trials, less a little for 200 examples


def test_the_interval_of_a_macro_f1_covers_the_truth():
    outputs, references = samples.labels(3, kinds=4, count=4000)
    population = labels.classification_scores(outputs, references)[1]
    share = covered(lambda generator: population.take(generator.integers(4000, size=250)), population.total)
    assert 0.9 <= share <= 0.985


def test_equal_systems_differ_by_chance_in_5_of_100_cases():
    """The p-values of systems that are equally good, on examples that are drawn anew, are spread evenly."""
    generator, found = np.random.default_rng(0), []
    for trial in range(400):
        sides = [accuracy(generator.random(300) < 0.7) for _ in range(2)]
        found.append(paired_bootstrap(*sides, resamples=300, seed=trial)["p_value"])
    found = np.array(found)
    for level in (0.05, 0.25, 0.5, 0.75):
        assert (found <= level).mean() == pytest.approx(level, abs=3.5 * np.sqrt(level * (1 - level) / 400))


def test_a_paired_difference_is_narrower_than_two_intervals():
    """A system that mends one in ten errors of another one on the same texts: seen in pairs alone."""
    first = np.arange(1000) % 2 == 0
    second = first | (np.arange(1000) % 20 == 1)
    found = paired_bootstrap(accuracy(first), accuracy(second))
    assert (found["a"], found["b"], found["difference"], found["better"]) == (50, 55, 5, "b")
    assert found["difference_interval"][0] > 3 and found["p_value"] < 0.01
    one, other = (report([accuracy(right)])["accuracy_interval"] for right in (first, second))
    assert one[1] > other[0]


def test_two_equal_systems_have_no_better_one():
    score = accuracy(np.arange(40) % 3 > 0)
    found = paired_bootstrap(score, score)
    assert found["p_value"] == 1 and found["better"] == "" and found["difference_interval"] == [0, 0]


def test_of_errors_the_fewer_are_better():
    few, many = np.arange(100) < 10, np.arange(100) < 30
    sides = [Score("wer", np.stack([wrong, np.ones(100)], axis=1), ACCURACY, higher_is_better=False)
             for wrong in (many, few)]  # fmt: skip
    assert paired_bootstrap(*sides)["better"] == "b" and paired_bootstrap(*sides)["difference"] == -20


def test_influence_is_what_swapping_two_outputs_changes():
    outputs, references = samples.sentences(1, count=12)
    others = references[:6] + outputs[6:9] + outputs[:3]
    first, second = (translation_scores(side, references, "en")[0] for side in (outputs, others))
    found = influence_on_difference(first, second)
    for example in range(12):
        swapped = [list(outputs), list(others)]
        swapped[0][example], swapped[1][example] = others[example], outputs[example]
        one, other = (translation_scores(side, references, "en")[0].total for side in swapped)
        before, after = second.total - first.total, other - one
        assert found[example] == pytest.approx((before - after) / 2, abs=1e-9)
    assert (found[6:9] == 0).all() and (found[:3] > 0).all() and (found[9:] < 0).any()


def test_influences_on_a_mean_sum_to_the_difference():
    first, second = (accuracy(np.arange(50) % number > 0) for number in (2, 5))
    assert influence_on_difference(first, second).sum() == pytest.approx(second.total - first.total)


def test_resamples_without_a_score_are_left_out():
    """One text in three is out of scope; a resample of three texts may have none."""
    score = Score("recall", [[1, 1], [0, 0], [0, 0]], ACCURACY)
    assert report([score]) == {"recall": 100, "recall_interval": [100, 100]}


def test_what_cannot_be_scored_is_refused():
    with pytest.raises(ValueError, match="at least one example"):
        Score("bleu", np.zeros((0, 3)), ACCURACY)
    with pytest.raises(ValueError, match="of the same examples; received accuracy of 3, accuracy of 4"):
        bootstrap_replicates([accuracy(np.ones(3)), accuracy(np.ones(4))])
