"""Work on what callers have sent, away from the event loop if it may take more than a moment.

Each caller has one turn at a time, so that whoever sends much keeps nobody else waiting.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from weakref import WeakValueDictionary

AT_ONCE = 16 << 10  # bytes of a body whose work takes a millisecond or two
THREADS = 4  # callers who have a turn at the same time


class Desk:
    """Does the work of requests."""

    def __init__(self):
        self.threads = ThreadPoolExecutor(THREADS, thread_name_prefix="desk")
        self._turns = WeakValueDictionary()  # caller -> the lock that its requests share

    async def do(self, count, work, *arguments):
        """What `work(*arguments)` returns, whatever else the event loop has to do meanwhile.

        Args:
            count: `serving.server.service.Count`: whose request it is, and its size in bytes.
        """
        if count.size <= AT_ONCE:
            return work(*arguments)
        turn = self._turns.setdefault(count.caller, asyncio.Lock())
        async with turn:
            return await asyncio.get_running_loop().run_in_executor(self.threads, work, *arguments)
