"""Rules and tasks of `seqzoo reproduce`: intervals against SciPy, tasks against answers found another way."""

import copy

import numpy as np
import pytest
from scipy import stats

from tests.house_rules import ROOT
from zoo.reproduce import report, trials
from zoo.reproduce.findings import T_95, bin_means, interval, is_above, slope

HOME = ROOT / "docs" / "reproduced"
CHANGES = [  # system, place of the claim, path of the number, another number, whether the claim then holds
    ("recurrent", 0, ["counts", "lstm"], 201, False),
    ("recurrent", 1, ["recalled", "LSTM"], [0.2, 0.2, 0.2], False),
    ("attention", 0, ["right", "additive"], [[1.0, 0.1, 0.1, 0.0]] * 3, False),
    ("attention", 2, ["identities", "v = 0"], 0.1, False),
    ("transformer", 0, ["gradients", "post_norm"], [[0.6, 0.4, 0.3, 0.2]] * 4, False),
    ("transformer", 2, ["last", "post-LN, no warm-up"], [0.0] * 5, False),
    ("transformer", 3, ["last", "post-LN, warm-up"], [0.0] * 5, True),
    ("transformer", 4, ["leak", "before"], 0.1, False),
    ("macaron", 0, ["errors", 0, "Strang, exact"], [1.0, 1.0, 1.0, 1.0], False),
    ("product-key", 0, ["search", "same"], 199, False),
    ("product-key", 1, ["known", "memory"], [0.0, 0.0, 0.0], False),
    ("tensorized", 0, ["parameters", 0, "3 d R + h R"], 1, False),
    ("tensorized", 2, ["loss", "two cores"], [0.0, 0.0, 0.0], True),
    ("tensorized", 4, ["leak", "without"], 0.0, True),
    ("adaptive-span", 2, ["trimmed"], [0.1], False),
    ("universal", 0, ["right", "Universal"], [[1.0, 0.0]] * 3, False),
    ("universal", 3, ["sizes", "8"], 1, False),
    ("universal", 4, ["sums", "interpolated"], 1.0, True),
    ("depth-adaptive", 3, ["chances", "multinomial"], 0.1, False),
    ("star", 0, ["error", "star"], [0.3, 0.3, 0.3], False),
    ("star", 3, ["moved", "star"], [3, 5], False),
    ("reformer", 0, ["union", "one softmax"], 0.1, False),
    ("reformer", 2, ["right"], [[0.9, 0.8, 0.7, 0.6]] * 3, False),
    ("reformer", 3, ["undone"], 0.1, False),
]


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
    tokens, labels, hops = trials.draw_pointers(np.random.default_rng(1), 200, 12, letters=8, reach=3)
    assert {0, 1, 2, 3} <= set(hops.ravel().tolist())
    for row in range(200):
        for at in range(12):
            place, followed = at, 0
            while tokens[row, place] >= trials.FIRST + 8:
                place, followed = place - (tokens[row, place] - trials.FIRST - 7), followed + 1
            assert (tokens[row, place] - trials.FIRST, followed) == (labels[row, at], hops[row, at])


def test_texts_are_written_backwards_to_their_ends():
    ids, lengths = trials.draw_texts(np.random.default_rng(1), 50, (1, 5), 6, 9)
    batch = trials.make_text_batch(ids, lengths, trials.reverse(ids, lengths))
    assert {int(length) for length in lengths} == {1, 2, 3, 4, 5}
    for row, length in enumerate(lengths):
        wanted = ids[row, :length][::-1].tolist()
        assert batch["labels"][row, : length + 1].tolist() == [*wanted, trials.EOS]
        assert batch["target_ids"][row, : length + 1].tolist() == [trials.BOS, *wanted]
        assert batch["weights"][row].tolist() == [1.0] * (length + 1) + [0.0] * (6 - length)


@pytest.mark.parametrize(("system", "place", "path", "number", "holds"), CHANGES)
def test_other_numbers_are_judged_otherwise(system, place, path, number, holds):
    found = copy.deepcopy(report.read(system, HOME)["found"])
    *outer, last = path
    part = found
    for name in outer:
        part = part[name]
    part[last] = number
    assert report.load_module(system).claims(found)[place]["holds"] is holds
