"""Rules and tasks of `seqzoo reproduce`: intervals against SciPy, tasks against answers found another way."""

import numpy as np
import pytest
from scipy import stats

from zoo.reproduce import tasks
from zoo.reproduce.claims import T_95, bin_means, interval, is_above, slope


@pytest.mark.parametrize("count", sorted(T_95))
def test_intervals_are_students(count):
    rows = np.random.default_rng(count).normal(size=(count, 3))
    mean, half = interval(rows)
    low, high = stats.t.interval(0.95, count - 1, rows.mean(0), stats.sem(rows))
    np.testing.assert_allclose([mean - half, mean + half], [low, high], rtol=0, atol=3e-3 * half.max())


def test_above_is_a_paired_comparison():
    noise = np.array([0.0, 5.0, -3.0])
    assert is_above(noise + [1.0, 1.1, 0.9], noise) and not is_above(noise, noise + [1.0, 1.1, 0.9])
    assert not is_above([1.0, 2.0, 3.0], [2.0, 1.0, 3.0])


def test_a_power_law_has_its_exponent():
    assert slope([1, 2, 4], [3.0, 1.5, 0.75]) == pytest.approx(-1)


def test_a_curve_is_binned():
    assert bin_means(np.arange(7.0), 3) == [0.5, 2.5, 4.5] and bin_means(np.arange(2.0), 30) == [0.0, 1.0]


def test_pointers_lead_where_labels_say():
    tokens, labels, hops = tasks.draw_pointers(np.random.default_rng(1), 200, 12, letters=8, reach=3)
    assert {0, 1, 2, 3} <= set(hops.ravel().tolist())
    for row in range(200):
        for at in range(12):
            place, followed = at, 0
            while tokens[row, place] >= tasks.FIRST + 8:
                place, followed = place - (tokens[row, place] - tasks.FIRST - 7), followed + 1
            assert (tokens[row, place] - tasks.FIRST, followed) == (labels[row, at], hops[row, at])


def test_texts_are_written_backwards_to_their_ends():
    ids, lengths = tasks.draw_texts(np.random.default_rng(1), 50, (1, 5), 6, 9)
    batch = tasks.make_text_batch(ids, lengths, tasks.reverse(ids, lengths))
    assert {int(length) for length in lengths} == {1, 2, 3, 4, 5}
    for row, length in enumerate(lengths):
        wanted = ids[row, :length][::-1].tolist()
        assert batch["labels"][row, : length + 1].tolist() == [*wanted, tasks.EOS]
        assert batch["target_ids"][row, : length + 1].tolist() == [tasks.BOS, *wanted]
        assert batch["weights"][row].tolist() == [1.0] * (length + 1) + [0.0] * (6 - length)
