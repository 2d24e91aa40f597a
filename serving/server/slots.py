"""How many runs of graphs go on at once, and whose they are."""

import asyncio
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

THREADS = 1 << 12  # more than there are ever turns: a turn, and not a thread, is what is waited for


class Slots:
    """The turns that lanes share. Each lane has one of its own, so that no other model keeps it from running.

    Args:
        count: the most runs of one lane at once; beyond the first of each lane, all of them together have one less.
        own: whether each lane has one of its own. If not, `count` is the most of all lanes together.
    """

    def __init__(self, count, own=True):
        self.count, self.own = count, own
        self.threads = ThreadPoolExecutor(THREADS, thread_name_prefix="model")
        self._busy = Counter()  # lane -> its runs
        self._waiting = []  # (lane, future) in the order of arrival

    def _may(self, lane):
        if not self.own:
            return self._busy.total() < self.count
        return not self._busy[lane] or sum(count - 1 for count in self._busy.values() if count) < self.count - 1

    async def acquire(self, lane):
        """Wait for a turn of a lane: first come, first served, as far as lanes share them."""
        if self._may(lane):
            self._busy[lane] += 1
            return
        turn = lane, asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn[1]
        except asyncio.CancelledError:
            if turn in self._waiting:
                self._waiting.remove(turn)
            elif not turn[1].cancelled():
                self.release(lane)
            raise

    def release(self, lane):
        """Give a turn back."""
        self._busy[lane] -= 1
        if not self._busy[lane]:
            del self._busy[lane]
        for turn in [*self._waiting]:
            if self._may(turn[0]) and not turn[1].done():
                self._waiting.remove(turn)
                self._busy[turn[0]] += 1
                turn[1].set_result(None)
