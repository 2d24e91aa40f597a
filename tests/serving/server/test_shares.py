"""Callers, and the requests of each, have equal shares of what is computed."""

import pytest

from serving.server.batcher import FullError
from tests.serving.server.test_batcher import made, payloads


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
