"""Beam search against all sequences there are, and against a search in plain Python."""

import numpy as np
import pytest
import tensorflow as tf

from tests.decoding.table import (
    EOS,
    Table,
    assert_same,
    everything,
    log_prob,
    penalty,
    rows_of,
    search,
)
from zoo.decoding import beam_search, greedy
from zoo.decoding.beam import length_penalty
from zoo.decoding.rules import Rules

NEVER = -1e9
SMALL = Table(vocabulary=5, max_length=3)
LONG = Table(vocabulary=5, max_length=5)


def certain(table, rows):
    """A memory in which each row follows its own scripted tokens almost surely."""
    logits = np.zeros((len(rows), table.prefixes, table.vocabulary), "float32")
    for row, tokens in enumerate(rows):
        for position, token in enumerate((*tokens, EOS)):
            logits[row, table.number(tokens[:position]), token] = 12.0
    return {"logits": logits}


def test_length_penalty_is_gnmts():
    """`((5 + |Y|) / 6)^alpha`."""
    assert float(length_penalty(1, 0.6)) == 1.0
    np.testing.assert_allclose(float(length_penalty(7, 1.0)), 2.0)
    np.testing.assert_allclose(float(length_penalty(19, 0.5)), 2.0)
    np.testing.assert_allclose(float(length_penalty(13, 0.6)), 3.0**0.6, rtol=1e-6)
    assert float(length_penalty(13, 0.0)) == 1.0


@pytest.mark.parametrize("alpha", [0.0, 0.6, 2.0])
def test_wide_enough_it_finds_the_best_of_all_sequences(alpha):
    memory = SMALL.random(batch=3, seed=7)
    found = rows_of(beam_search(SMALL, memory, 3, beams=64, alpha=alpha))
    for row, received in zip(memory["logits"], found, strict=True):
        assert_same(received, everything(SMALL, row, 3, alpha)[:64])


def test_slots_without_a_hypothesis_are_empty():
    """There are 1 + 4 + 16 sequences that end and 64 that are cut off; 90 slots leave 5."""
    memory = SMALL.random(batch=1, seed=8)
    (received,) = rows_of(beam_search(SMALL, memory, 3, beams=90, alpha=0.6))
    expected = everything(SMALL, memory["logits"][0], 3, 0.6)
    assert len(expected) == 85
    assert_same(received[:85], expected)
    assert received[85:] == [((), np.float32(NEVER))] * 5


@pytest.mark.slow(but=4)
@pytest.mark.parametrize("beams", [1, 2, 3, 7])
@pytest.mark.parametrize("alpha", [0.0, 0.6])
def test_narrow_it_is_the_search_in_plain_python(beams, alpha):
    memory = LONG.random(batch=40, seed=beams, scale=1.5)
    found = rows_of(beam_search(LONG, memory, 5, beams=beams, alpha=alpha))
    for row, received in zip(memory["logits"], found, strict=True):
        assert_same(received, search(LONG, row, 5, beams, alpha))


@pytest.mark.slow
@pytest.mark.release(but=1)
@pytest.mark.parametrize("alpha", [0.0, 0.6])
def test_leaving_early_changes_nothing(alpha):
    """Each row on its own, so that no neighbour keeps the loop going; EOS is likely, so that it leaves early."""
    specs = {"logits": tf.TensorSpec((1, LONG.prefixes, 5), tf.float32)}
    found = tf.function(
        lambda memory: beam_search(LONG, memory, 5, beams=2, alpha=alpha), input_signature=[specs], autograph=False
    )
    memory = LONG.random(batch=150, seed=12, scale=4.0)["logits"]
    memory[:, :, EOS] += 1.0
    for row in memory:
        (received,) = rows_of(found({"logits": row[None]}))
        assert_same(received, search(LONG, row, 5, beams=2, alpha=alpha))


@pytest.mark.slow
def test_n_best_are_distinct_sorted_and_scored():
    memory = LONG.random(batch=20, seed=3)
    for row, received in zip(memory["logits"], rows_of(beam_search(LONG, memory, 5, beams=4, alpha=0.6)), strict=True):
        sequences = [tokens for tokens, _ in received]
        assert len(set(sequences)) == 4
        for part in (True, False):  # finished ones first, each part by score
            scores = [score for tokens, score in received if (len(tokens) < 5) == part]
            assert scores == sorted(scores, reverse=True)
        assert [len(tokens) < 5 for tokens, _ in received] == sorted(
            (len(tokens) < 5 for tokens in sequences), reverse=True
        )
        for tokens, score in received:
            whole = tokens if len(tokens) == 5 else (*tokens, EOS)
            expected = log_prob(LONG, row, whole) / penalty(len(whole), 0.6)
            np.testing.assert_allclose(score, expected, atol=2e-5)


def test_only_as_many_as_are_wanted_must_be_sure():
    """Each row says how many: those are what the whole search finds, and the other places are empty."""
    memory, wanted = LONG.random(batch=60, seed=21, scale=3.0), np.resize([1, 2, 3, 0], 60).astype("int32")
    memory["logits"][:, :, EOS] += 2.0
    whole = [np.asarray(each) for each in beam_search(LONG, memory, 5, beams=3)]
    found = [np.asarray(each) for each in beam_search(LONG, memory, 5, beams=3, rules=Rules(n_best=wanted))]
    for row, n in enumerate(np.where(wanted == 0, 3, wanted)):
        for expected, received in zip(whole, found, strict=True):
            np.testing.assert_array_equal(received[row, :n], expected[row, :n])
        assert not found[0][row, n:].any() and not found[1][row, n:].any() and (found[2][row, n:] == -1e9).all()


@pytest.mark.parametrize(("wanted", "steps"), [(1, 2), (2, 3), (0, 4)])
def test_it_ends_as_soon_as_these_are_sure(wanted, steps):
    """The best answer has one token; the second has two, and the third has three."""

    class Counted(Table):
        taken = 0

        def step(self, *inputs):
            self.taken += 1
            return super().step(*inputs)

    table = Counted(5, 5)
    memory = certain(table, [(1, 1, 1, 1)])
    for length in (1, 2, 3):  # an end that is a little likelier than going on
        memory["logits"][0, table.number((1,) * length), EOS] = 12.001
    beam_search(table, memory, 5, beams=3, alpha=0.0, rules=Rules(n_best=wanted) if wanted else None)
    assert table.taken == steps


@pytest.mark.slow
def test_rows_do_not_know_each_other():
    """A row that is done at once is frozen while others go on, and equals itself alone."""
    memory = certain(LONG, [(), (4, 4, 1, 4), (1,)])
    memory["logits"] += LONG.random(3, seed=5, scale=0.3)["logits"]
    together = beam_search(LONG, memory, 5, beams=3)
    for row in range(3):
        alone = beam_search(LONG, {"logits": memory["logits"][row : row + 1]}, 5, beams=3)
        for one, other in zip(alone, together, strict=True):
            np.testing.assert_allclose(one[0], other[row], rtol=1e-6)
    assert [received[0][0] for received in rows_of(together)] == [(), (4, 4, 1, 4), (1,)]


def test_eos_first_is_the_empty_output():
    memory = certain(SMALL, [()])
    (received,) = rows_of(beam_search(SMALL, memory, 3, beams=2, alpha=0.6))
    expected = log_prob(SMALL, memory["logits"][0], (EOS,))
    assert received[0] == ((), pytest.approx(expected, abs=1e-5))


def test_what_max_length_cuts_off_comes_after_what_ended():
    """Even where it is far more probable; and a pool full of ended ones leaves it no slot."""
    memory = certain(SMALL, [(4, 4, 4)])
    (received,) = rows_of(beam_search(SMALL, memory, 3, beams=3, alpha=0.6))
    assert [tokens for tokens, _ in received] == [(4, 4), (4,), ()]
    only = np.full((1, SMALL.prefixes, 1), -np.inf, "float32")
    only[0, SMALL.number((4,))] = 0.0  # nothing else can end
    memory["logits"][:, :, EOS : EOS + 1] = only
    (received,) = rows_of(beam_search(SMALL, memory, 3, beams=3, alpha=0.6))
    assert [tokens for tokens, _ in received[:2]] == [(4,), (4, 4, 4)]
    assert len(received[2][0]) == 3
    assert received[1][1] > received[0][1] + 5


def test_cut_off_ones_are_in_the_order_of_their_scores():
    """Scores of -3.2 and -3.3 are one number in float32 if a large one is taken from both."""
    memory = LONG.random(batch=40, seed=2, scale=0.4)
    memory["logits"][:, :, EOS] -= 9.0
    for row, received in zip(memory["logits"], rows_of(beam_search(LONG, memory, 5, beams=6, alpha=0.6)), strict=True):
        assert_same(received, search(LONG, row, 5, 6, 0.6))
        cut = [score for tokens, score in received if len(tokens) == 5]
        assert len(cut) > 3 and cut == sorted(cut, reverse=True)
        assert np.ptp(np.float32(cut) - np.float32(5e8)) == 0


def test_nothing_ended_leaves_the_cut_off_ones():
    memory = SMALL.random(batch=1, seed=4)
    memory["logits"][:, :, EOS] = -np.inf
    (received,) = rows_of(beam_search(SMALL, memory, 3, beams=4, alpha=1.0))
    expected = [one for one in everything(SMALL, memory["logits"][0], 3, 1.0) if len(one[0]) == 3]
    assert_same(received, expected[:4])


def test_ties_go_to_the_lower_id():
    memory = {"logits": np.zeros((1, SMALL.prefixes, 5), "float32")}
    memory["logits"][:, :, EOS] = -np.inf
    (received,) = rows_of(beam_search(SMALL, memory, 3, beams=4, alpha=0.0))
    assert [tokens for tokens, _ in received] == [(0, 0, 0), (0, 0, 1), (0, 0, 2), (0, 0, 4)]


def test_ties_go_to_what_ended_earlier():
    memory = {"logits": np.full((1, SMALL.prefixes, 5), -np.inf, "float32")}
    memory["logits"][0, SMALL.number(()), [EOS, 4]] = 0.0  # a half each
    memory["logits"][0, SMALL.number((4,)), EOS] = 0.0  # certain: the same half
    (received,) = rows_of(beam_search(SMALL, memory, 3, beams=2, alpha=0.0))
    assert [tokens for tokens, _ in received] == [(), (4,)]
    assert received[0][1] == received[1][1]


@pytest.mark.slow
def test_an_impossible_token_never_appears():
    memory = LONG.random(batch=5, seed=6)
    memory["logits"][:, :, 1] = -np.inf
    for received in rows_of(beam_search(LONG, memory, 5, beams=4)):
        assert all(1 not in tokens for tokens, _ in received)
        assert all(np.isfinite(score) for _, score in received)


@pytest.mark.slow
def test_one_beam_is_not_greedy_but_no_worse():
    """One open beam goes on behind an EOS that was only second best, or best but by score not final.

    So what holds is: a greedy output that ends is found or beaten (alpha = 0), and where EOS is never
    the runner-up on its way, the two agree.
    """
    memory = LONG.random(batch=200, seed=9)
    beam = [one[0] for one in rows_of(beam_search(LONG, memory, 5, beams=1, alpha=0.0))]
    best = [one[0] for one in rows_of(greedy(LONG, memory, 5))]
    compared = differ = 0
    for row, (tokens, score), (taken, probability) in zip(memory["logits"], beam, best, strict=True):
        if len(taken) == 5:
            continue  # greedy was cut off: a finished output ranks before it, whatever its score
        assert score >= probability - 1e-5
        seconds = [np.argsort(-LONG.log_probs(row, taken[:i]))[1] for i in range(len(taken))]
        if EOS not in seconds:
            compared += 1
            assert tokens == taken
        differ += tokens != taken
    assert compared > 50
    assert differ > 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"alpha": -0.1}, r"alpha must be >= 0\. Received: -0\.1"),
        ({"alpha": float("nan")}, r"alpha must be >= 0\. Received: nan"),
        ({"beams": 0}, r"beams must be a positive integer.*Received: 0"),
        ({"beams": 2.0}, r"beams must be a positive integer.*Received: 2\.0"),
        ({"max_length": 0}, r"max_length must be a positive integer.*Received: 0"),
    ],
)
def test_settings_are_checked(settings, message):
    with pytest.raises(ValueError, match=message):
        beam_search(SMALL, SMALL.random(1, 1), **{"max_length": 3, "beams": 2, **settings})
