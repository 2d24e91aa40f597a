"""The lane of one version of one model: requests wait in its queue, and batches of them are computed by threads."""

import asyncio
import contextlib
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from serving.runtime.errors import ServingError
from serving.server.batcher import Batcher, FullError
from serving.server.faults import Fault


class Slots:
    """The threads that all lanes share, as many as runs of graphs may go on at once. Lanes take turns.

    Args:
        count: the number of threads.
    """

    def __init__(self, count):
        self.count = count
        self.threads = ThreadPoolExecutor(count, thread_name_prefix="model")
        self.free = asyncio.Semaphore(count)  # first come, first served, so no model keeps another from its turn


class Waiting:
    """A request whose rows wait or are computed; `answer` is a future with the results of all rows, in order."""

    def __init__(self, ask):
        self.ask, self.left = ask, len(ask.rows)
        self.results = [None] * self.left
        self.answer = asyncio.get_running_loop().create_future()

    def settle(self, place, result):
        self.results[place] = result
        self.left -= 1
        if not self.left and not self.answer.done():
            self.answer.set_result(self.results)

    def fail(self, error):
        if not self.answer.done():
            self.answer.set_exception(error)


class Lane:
    """One version of a model, its queue, and the task that takes batches from it.

    Args:
        signatures: the signatures of this version by name (`serving.server.texts`, `serving.server.rows`).
        batching: `serving.server.limits.Batching`.
        queue: the most rows that wait.
        slots: `Slots`.
        meter: `serving.server.metrics.Meter` of this version.
        log: a function `(event, **fields)`.
    """

    def __init__(self, signatures, batching, queue, slots, meter, log):
        self.signatures, self.slots, self.meter, self.log = signatures, slots, meter, log
        self.batcher = Batcher(batching, queue)
        self.wake, self.closing, self.running = asyncio.Event(), False, set()
        self.rate = 0.0  # rows a second, lately
        self.loop = asyncio.create_task(self._take_batches())

    async def answer(self, ask, within):
        """The results of an ask, in the order of its rows.

        If the caller leaves (the task is cancelled), or the time is over, rows that still wait are not computed.

        Args:
            ask: what a signature's `ask` has returned.
            within: seconds.

        Raises:
            Fault: the queue is full, or the time is over.
        """
        if not ask.rows:
            return []
        waiting = Waiting(ask)
        try:
            self.batcher.add(waiting, ask.key, ask.rows, ask.costs)
        except FullError:
            raise Fault("busy", *self._full()) from None
        self.wake.set()
        self.meter.queue(len(self.batcher))
        try:
            async with asyncio.timeout(within):
                return await waiting.answer
        except TimeoutError:
            raise Fault(
                "late", f"the answer was not ready within {within:g} seconds. Send fewer texts, or allow more time."
            ) from None
        finally:
            dropped = self.batcher.drop(waiting)
            if dropped:
                self.meter.dropped(dropped)
                self.meter.queue(len(self.batcher))

    def _full(self):
        seconds = min(60, max(1, round(len(self.batcher) / self.rate))) if self.rate else 1
        return f"{len(self.batcher)} texts wait already. Try again in {seconds} second{'s' * (seconds > 1)}.", seconds

    async def close(self):
        """Finish what waits and what is computed; nothing new may be asked."""
        self.closing = True
        self.wake.set()
        await self.loop
        while self.running:
            await asyncio.wait(self.running)

    async def _take_batches(self):
        while True:
            due = self.batcher.due()
            if due is None and self.closing:
                return
            if due != 0:
                self.wake.clear()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(due):
                        await self.wake.wait()
                continue
            await self.slots.free.acquire()
            batch = self.batcher.take()  # now, because more rows may have come while there was no slot
            if not batch:
                self.slots.free.release()
                continue
            self.meter.queue(len(self.batcher))
            task = asyncio.create_task(self._compute(batch))
            self.running.add(task)
            task.add_done_callback(partial(self._done, batch))

    def _done(self, batch, task):
        self.running.discard(task)
        self.batcher.done(batch, None if task.cancelled() or task.exception() else task.result())
        if not task.cancelled() and task.exception():
            self.log("failed", level="error", model=self.meter.model, error=task.exception())

    async def _compute(self, batch):
        """The seconds that the batch has taken; None if it failed as a whole."""
        loop = asyncio.get_running_loop()
        signature, started = batch[0].owner.ask.signature, time.perf_counter()
        try:
            payloads = [row.payload for row in batch]
            try:
                found = await loop.run_in_executor(self.slots.threads, signature.run, batch[0].key, payloads)
            finally:
                self.slots.free.release()
            if len(found) != len(batch):
                raise ServingError(f"expected {len(batch)} answers, received {len(found)}")
        except Exception as error:
            await self._compute_apart(batch, error)
            return
        for row, result in zip(batch, found, strict=True):
            row.owner.settle(row.place, result)
        seconds = max(time.perf_counter() - started, 1e-6)
        self.meter.batch([row.cost for row in batch], seconds)
        now = len(batch) / seconds
        self.rate = 0.9 * self.rate + 0.1 * now if self.rate else now
        return seconds

    async def _compute_apart(self, batch, error):
        """A batch failed: each of its requests is tried alone, so that what one has asked costs no other its answer."""
        owners = {id(row.owner): row.owner for row in batch}
        if len(owners) == 1:
            self.log("failed", level="error", model=self.meter.model, error=error)
            sentence = f"the model could not answer: {type(error).__name__}. The server's log has more."
            batch[0].owner.fail(Fault("broken", sentence))
            return
        for owner in owners.values():
            await self.slots.free.acquire()
            await self._compute([row for row in batch if row.owner is owner])
