"""Batches that a thread prepares while the training computes."""

import contextlib
from concurrent.futures import ThreadPoolExecutor


class Prefetched:
    """The batches of a training, some of them ahead of their steps.

    A batch is a pure function of its step, so the numbers of a training do not depend on it.

    Args:
        batches: an object with `batch(step)`; one thread alone calls it.
        ahead: how many batches are prepared beside the one that is asked for; 0 prepares none.
        steps: the number of steps of the training; there is no batch behind its last one.
    """

    def __init__(self, batches, ahead, steps):
        self._batches, self._ahead, self._steps = batches, ahead, steps
        self._coming, self._pool = {}, ThreadPoolExecutor(1, thread_name_prefix="batches") if ahead else None

    def batch(self, step):
        """The batch of a step.

        Raises:
            Exception: what the preparation of this batch raised.
        """
        if self._pool is None:
            return self._batches.batch(step)
        wanted = range(step, max(step + 1, min(step + 1 + self._ahead, self._steps)))
        self._coming = {each: found for each, found in self._coming.items() if each in wanted}
        for each in wanted:
            if each not in self._coming:
                self._coming[each] = self._pool.submit(self._batches.batch, each)
        return self._coming.pop(step).result()

    def close(self):
        """End the thread."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)


def prefetched(batches, ahead, steps):
    """A context with the `Prefetched`."""
    return contextlib.closing(Prefetched(batches, ahead, steps))
