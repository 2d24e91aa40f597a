"""The batcher alone: a queue with a clock of the test's own, whose callers have equal shares of what is computed."""

import math
import random

import pytest

from serving.server.batcher import Batcher, FullError
from serving.server.limits import Batching


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def made(capacity=100, padding=math.inf, **rules):
    clock = Clock()
    return Batcher(Batching(**rules), capacity, padding, clock), clock


def add(batcher, owner, *costs, key="key"):
    batcher.add(owner, key, [f"{owner}{number}" for number in range(len(costs))], costs)


def payloads(batch):
    return [row.payload for row in batch]


def test_an_empty_queue_is_never_due():
    batcher, _ = made()
    assert batcher.seconds_left() is None and batcher.take() == [] and batcher.drop("nobody") == 0


def test_a_key_that_cannot_be_hashed_leaves_no_trace():
    batcher, _ = made()
    with pytest.raises(TypeError):
        add(batcher, "a", 3, key=["a list"])
    assert batcher.seconds_left() is None
    add(batcher, "a", 3)
    assert payloads(batcher.take()) == ["a0"]


def test_a_row_waits_no_longer_than_the_delay():
    batcher, clock = made(delay=0.5)
    add(batcher, "a", 3)
    clock.now = 0.25
    add(batcher, "b", 3)
    assert batcher.seconds_left() == 0.25  # of the oldest
    clock.now = 9
    assert batcher.seconds_left() == 0 and payloads(batcher.take()) == ["a0", "b0"] and batcher.seconds_left() is None


def test_a_caller_who_is_alone_waits_for_nobody():
    batcher, clock = made(delay=0.5)
    add(batcher, "a", 3)
    assert batcher.seconds_left() == 0.5  # who knows
    clock.now = 0.5
    for number in range(3):
        assert payloads(batcher.take()) == [f"{'abc'[number]}0"]
        batcher.done([None])
        add(batcher, "abc"[number + 1 : number + 2] or "d", 3)
        assert batcher.seconds_left() == 0


def test_a_batch_waits_for_as_many_as_there_were():
    """Three callers, of whom each asks again when it is answered, and a thread for one batch."""
    batcher, clock = made(delay=0.5)
    add(batcher, "a", 3)
    clock.now = 0.5
    assert payloads(batcher.take()) == ["a0"]
    add(batcher, "b", 3)
    add(batcher, "c", 3)
    batcher.done([None])
    assert batcher.seconds_left() == 0  # one was here at once when the last batch was taken
    assert payloads(batcher.take()) == ["b0", "c0"]
    add(batcher, "d", 3)  # the first one again
    batcher.done([None] * 2)
    assert batcher.seconds_left() == 0.5  # three were here at once
    add(batcher, "e", 3)
    assert batcher.seconds_left() == 0.5
    add(batcher, "f", 3)
    assert batcher.seconds_left() == 0 and payloads(batcher.take()) == ["d0", "e0", "f0"]
    batcher.done([None] * 3)
    add(batcher, "g", 3)
    clock.now = 0.9
    assert batcher.seconds_left() == pytest.approx(0.1)  # and no longer than the delay, if the others have left
    clock.now = 1.0
    for owner in "hi":
        assert len(batcher.take()) == 1
        batcher.done([None])
        add(batcher, owner, 3)
        assert batcher.seconds_left() == (0.5 if owner == "h" else 0)  # three were here with g's batch, one with h's
        clock.now += 0.5


def test_what_is_computed_is_here():
    """With threads for two batches, nobody waits for those who cannot come yet."""
    batcher, clock = made(delay=0.5, texts=2)
    add(batcher, "a", 3, 3)
    add(batcher, "b", 3, 3)
    assert len(batcher.take()) == len(batcher.take()) == 2
    batcher.done([None] * 2)
    add(batcher, "c", 3)
    assert batcher.seconds_left() == 0.5  # four were here: one more can come
    add(batcher, "d", 3)
    assert batcher.seconds_left() == 0


@pytest.mark.parametrize("rules", [{"texts": 3}, {"tokens": 12}])
def test_a_full_batch_does_not_wait(rules):
    batcher, _ = made(delay=0.5, **rules)
    add(batcher, "a", 4, 4)
    assert batcher.seconds_left() == 0.5
    add(batcher, "b", 4, 4)
    assert batcher.seconds_left() == 0 and payloads(batcher.take()) == ["a0", "b0", "a1"]
    assert len(batcher) == 1


def test_padding_is_counted():
    """Number of rows times the longest: a long row makes every other one dearer."""
    batcher, _ = made(tokens=20)
    add(batcher, "a", 10, 2, 2, 2, 2, 2)
    assert payloads(batcher.take()) == ["a0", "a1"]  # a third row would make it 30
    assert payloads(batcher.take()) == ["a2", "a3", "a4", "a5"]


@pytest.mark.parametrize("seed", range(3))
def test_a_batch_has_as_little_padding_as_the_runtime_would_have(seed):
    """The first in turn is in it, and no batch is padded by more."""
    rng = random.Random(seed)
    batcher, _ = made(texts=16, padding=12)
    costs = [rng.randrange(1, 40) for _ in range(40)]
    add(batcher, "a", *costs)
    waiting = dict(enumerate(costs))
    while batch := batcher.take():
        assert min(waiting) in [row.place for row in batch]
        taken = sorted(waiting.pop(row.place) for row in batch)
        assert sum(taken[-1] - cost for cost in taken) <= 12 and len(taken) <= 16
        batcher.done(batch)
    assert not waiting


def test_what_may_be_padded_goes_at_once():
    for costs, expected in (([10, 11, 12, 13], 4), ([10, 11, 12, 90], 3)):
        batcher, _ = made(padding=6)
        add(batcher, "a", *costs)
        assert len(batcher.take()) == expected


def test_a_row_beyond_the_bound_goes_alone():
    batcher, _ = made(tokens=20)
    add(batcher, "a", 50, 50, 3)
    assert payloads(batcher.take()) == ["a0"] and payloads(batcher.take()) == ["a1"]


def test_similar_lengths_go_together_and_the_oldest_always():
    batcher, _ = made(texts=3)
    add(batcher, "a", 9, 4, 8, 5, 10, 4)
    assert payloads(batcher.take()) == ["a0", "a2", "a4"]
    assert payloads(batcher.take()) == ["a1", "a3", "a5"]


def test_keys_do_not_mix():
    batcher, _ = made(texts=8)
    add(batcher, "a", 1, 1, key="greedy")
    add(batcher, "b", 1, key="beam")
    add(batcher, "c", 1, key="greedy")
    assert payloads(batcher.take()) == ["a0", "c0", "a1"] and payloads(batcher.take()) == ["b0"]


def test_a_dropped_request_is_not_computed():
    batcher, _ = made(texts=2)
    add(batcher, "a", 1, 1, 1)
    add(batcher, "b", 1)
    assert payloads(batcher.take()) == ["a0", "b0"]  # these are under way
    add(batcher, "c", 1)
    assert batcher.drop("a") == 2 and payloads(batcher.take()) == ["c0"]
    assert len(batcher) == 0 and batcher.seconds_left() is None and batcher.drop("a") == 0


def test_the_queue_is_bounded_for_whole_requests():
    batcher, _ = made(capacity=3)
    add(batcher, "a", 1, 1)
    with pytest.raises(FullError):
        add(batcher, "b", 1, 1)
    add(batcher, "c", 1)
    assert payloads(batcher.take()) == ["a0", "c0", "a1"]  # nothing of b
    add(batcher, "d", *[1] * 9)  # larger than the queue: it is taken if nothing else waits
    assert len(batcher) == 9


@pytest.mark.parametrize("seed", range(5))
def test_every_row_comes_once_or_is_dropped(seed):
    """Random arrivals, batches and departures against a plain list."""
    rng = random.Random(seed)
    batcher, clock = made(capacity=50, delay=0.1, tokens=40, texts=5)
    waiting, owner = {}, 0
    for _ in range(600):
        clock.now += rng.random() / 10
        what = rng.random()
        if what < 0.5:
            owner += 1
            costs = [rng.randrange(0, 30) for _ in range(rng.randrange(1, 8))]
            try:
                batcher.add(owner, rng.choice("xy"), list(range(len(costs))), costs, rng.choice("abc"))
                waiting[owner] = set(range(len(costs)))
            except FullError:
                assert sum(map(len, waiting.values())) + len(costs) > 0.75 * 50 / 3
        elif what < 0.6 and waiting:
            gone = rng.choice(sorted(waiting))
            assert batcher.drop(gone) == len(waiting.pop(gone))
        else:
            batch = batcher.take()
            assert bool(batch) == bool(waiting) and len({row.key for row in batch}) <= 1
            assert len(batch) <= 1 or len(batch) <= 5 and len(batch) * max(row.cost for row in batch) <= 40
            for row in batch:
                waiting[row.owner].remove(row.place)  # KeyError: it came twice
                if not waiting[row.owner]:
                    del waiting[row.owner]
        assert len(batcher) == sum(map(len, waiting.values()))
        assert (batcher.seconds_left() is None) == (not waiting)


def served(batcher, turns):
    """The payloads that so many batches compute."""
    return [payload for _ in range(turns) for payload in payloads(batcher.take())]


@pytest.mark.parametrize("own", [True, False], ids=["another caller", "the same caller"])
def test_one_text_is_next_however_many_wait_before_it(own):
    batcher, _ = made(capacity=5000, texts=8)
    for number in range(3):
        batcher.add(number, "key", range(1024), [5] * 1024, caller="large")
    served(batcher, 20)
    batcher.add("small", "key", ["mine"], [5], caller="small" if own else "large")
    assert batcher.take()[0].payload == "mine"


def test_a_small_request_does_not_wait_for_the_rows_of_large_ones():
    """Its batch has other small ones alone."""
    batcher, _ = made(capacity=5000, texts=8)
    batcher.add(0, "key", ["large"] * 100, [5] * 100, caller="a")
    for number in range(3):
        batcher.add(1 + number, "key", ["small"], [5], caller=number)
    assert [sorted(payloads(batcher.take())) for _ in range(2)] == [["large"] * 5 + ["small"] * 3, ["large"] * 8]
    batcher.add(9, "key", ["small"], [5], caller="b")
    assert payloads(batcher.take()) == ["small"] and payloads(batcher.take()) == ["large"] * 8


@pytest.mark.parametrize("key", ["key", "another"])
def test_callers_have_equal_shares_whatever_they_ask(key):
    """One sends three long requests with long texts, one many short ones; tokens are shared, not texts."""
    batcher, _ = made(capacity=5000, texts=8, tokens=160)
    for number in range(3):
        batcher.add(number, "key", ["long"] * 300, [20] * 300, caller="a")
    for number in range(900):
        batcher.add(100 + number, key, ["short"], [5], caller="b")
    found = served(batcher, 60)
    long, short = (sum(payload == each for payload in found) for each in ("long", "short"))
    assert 0.7 < (20 * long) / (5 * short) < 1.5


def test_nobody_saves_up_turns():
    batcher, _ = made(capacity=5000, texts=4)
    batcher.add(0, "key", ["early"] * 4, [1] * 4, caller="early")
    batcher.take()
    batcher.add(1, "x", ["busy"] * 900, [1] * 900, caller="busy")
    served(batcher, 100)
    batcher.add(2, "y", ["early"] * 400, [1] * 400, caller="early")
    assert 3 <= served(batcher, 10).count("busy") / 4 <= 7


def test_one_caller_cannot_fill_the_queue():
    batcher, _ = made(capacity=80)
    batcher.add(0, "key", range(60), [1] * 60, caller="a")
    with pytest.raises(FullError):
        batcher.add(1, "key", range(20), [1] * 20, caller="a")
    batcher.add(2, "key", range(2), [1] * 2, caller="a")  # a small one finds room still
    batcher.add(3, "key", range(16), [1] * 16, caller="b")


def test_nothing_is_kept_of_callers_who_left():
    batcher, _ = made(capacity=5000, texts=4)
    for number in range(300):
        batcher.add(number, ("key", number), ["a"], [7], caller=number)
        if number % 2:
            batcher.drop(number)
    while batcher.take():
        pass
    held = batcher._shares
    assert not any((held._callers, held._requests, held._groups, held._sums))
