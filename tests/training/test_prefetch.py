"""Batches that a thread prepares ahead are those that a training without it sees."""

import threading
import time
from contextlib import closing

import numpy as np
import pytest

from tests.training import tiny
from zoo.training import TrainingPlan
from zoo.training.loop import Prefetcher


class Counted:
    """Batches that note which thread asked for which step."""

    def __init__(self, seconds=0.0):
        self.asked, self.threads, self._seconds = [], set(), seconds

    def batch(self, step):
        self.asked.append(step)
        self.threads.add(threading.current_thread().name)
        time.sleep(self._seconds)
        return step


@pytest.mark.parametrize("ahead", [0, 1, 3])
def test_each_step_has_its_batch_and_none_is_made_twice(ahead):
    counted = Counted()
    with closing(Prefetcher(counted, ahead, steps=10)) as batches:
        assert [batches.batch(step) for step in range(4, 10)] == list(range(4, 10))
    assert sorted(counted.asked) == list(range(4, 10))  # nothing behind the last step
    assert len(counted.threads) == 1 and ("MainThread" in counted.threads) == (ahead == 0)


def test_a_step_that_was_not_expected_has_its_batch_too():
    counted = Counted()
    with closing(Prefetcher(counted, 2, steps=100)) as batches:
        assert [batches.batch(step) for step in (0, 50, 51, 3, 3)] == [0, 50, 51, 3, 3]


def test_the_next_batch_is_made_while_the_step_is_computed():
    with closing(Prefetcher(Counted(seconds=0.1), 1, steps=10)) as batches:
        batches.batch(0)
        time.sleep(0.3)
        start = time.monotonic()
        batches.batch(1)
        assert time.monotonic() - start < 0.09


def test_an_error_comes_with_its_step():
    class Faulty(Counted):
        def batch(self, step):
            if step == 2:
                raise ValueError("line 7 is no text")
            return super().batch(step)

    with closing(Prefetcher(Faulty(), 1, steps=10)) as batches:
        assert [batches.batch(0), batches.batch(1)] == [0, 1]
        with pytest.raises(ValueError, match="line 7 is no text"):
            batches.batch(2)


def test_closing_leaves_no_thread():
    before = threading.active_count()
    batches = Prefetcher(Counted(), 4, steps=10)
    batches.batch(0)
    batches.close()
    assert threading.active_count() == before


@pytest.mark.slow
def test_a_training_ends_with_the_same_bits(tmp_path):
    settings = {"steps": 8, "validate_every": 4, "checkpoint_every": 3}
    weights = [
        tiny.arrays(tiny.train(tmp_path / f"{ahead}", plan=TrainingPlan(**settings, prefetch=ahead))[0].variables)
        for ahead in (0, 3)
    ]
    for one, other in zip(*weights, strict=True):
        np.testing.assert_array_equal(one, other)
