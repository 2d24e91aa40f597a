"""The lane of one version of one model: requests wait in its queue, and batches of them are computed by threads.

A request that nobody waits for any more leaves the queue, and a batch all of whose requests were left is ended.
"""

import asyncio
import contextlib
import math
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from serving.runtime.errors import ServingError, StoppedError
from serving.runtime.sessions import Stop
from serving.server.batcher import Batcher, FullError
from serving.server.faults import Fault, late

THREADS = 1 << 12  # more than there are ever turns: a turn, and not a thread, is what is waited for


class Waiting:
    """A request whose rows wait or are computed; `answer` is a future with the results of all rows, in order."""

    def __init__(self, ask):
        self.ask, self.left = ask, len(ask.rows)
        self.results = [None] * self.left
        self.answer = asyncio.get_running_loop().create_future()

    @property
    def is_live(self):
        """Whether somebody waits for it."""
        return not self.answer.done()

    def settle(self, place, result):
        self.results[place] = result
        self.left -= 1
        if not self.left and self.is_live:
            self.answer.set_result(self.results)

    def fail(self, error):
        if self.is_live:
            self.answer.set_exception(error)


class Run:
    """A batch that is computed, and how it is ended."""

    def __init__(self, batch):
        self.owners = {row.owner for row in batch}
        self.stop = Stop(shrink=batch[0].owner.ask.long)

    def end_if_left(self):
        """End it if nobody waits for one of its rows."""
        if not any(owner.is_live for owner in self.owners):
            self.stop.end()

    def compute(self, signature, key, payloads):
        """The results of the rows; in a thread."""
        with self.stop.over():
            return signature.run(key, payloads)


class Lane:
    """One version of a model, its queue, and the task that takes batches from it.

    Args:
        signatures: the signatures of this version by name (`serving.server.signatures`, `serving.server.signatures`).
        batching: `serving.server.limits.Batching`.
        queue: the most rows that wait.
        slots: `serving.server.lane.Slots`.
        meter: `serving.server.monitoring.Meter` of this version.
        log: a function `(event, **fields)`.
    """

    def __init__(self, signatures, batching, queue, slots, meter, log):
        self.slots, self.meter, self.log = slots, meter, log
        padding = max((signature.padding for signature in signatures.values()), default=math.inf)
        self.batcher = Batcher(batching, queue, padding)
        self.wake, self.closing = asyncio.Event(), False
        self.here, self.running = set(), {}  # requests; tasks and what each computes
        self.rate = 0.0  # rows a second, lately
        self._start()

    def _start(self):
        self.loop = asyncio.create_task(self._take_batches())

    async def answer(self, ask, within, caller=None):
        """The results of an ask, in the order of its rows.

        If the caller leaves (the task is cancelled), or the time is over, rows that still wait are not computed.

        Args:
            ask: what a signature's `ask` has returned.
            within: seconds.
            caller: who asks; callers have equal shares.

        Raises:
            Fault: the queue is full, or the time is over.
        """
        if not ask.rows:
            return []
        waiting = Waiting(ask)
        try:
            self.batcher.add(waiting, ask.key, ask.rows, ask.costs, caller)
        except FullError:
            raise Fault("busy", *self._describe_full()) from None
        if self.loop.done():  # it was closed for another version after this request had found it
            self._start()
        self.wake.set()
        self.here.add(waiting)
        self.meter.count_queued(len(ask.rows))
        try:
            async with asyncio.timeout(within):
                return await waiting.answer
        except TimeoutError:
            raise late(within) from None
        finally:
            self.here.discard(waiting)
            dropped = self.batcher.drop(waiting)
            if dropped:
                self.meter.count_dropped(dropped)
                self.meter.count_queued(-dropped)
            for run in self.running.values():
                if waiting in run.owners:
                    run.end_if_left()

    def _describe_full(self):
        seconds = min(60, max(1, round(len(self.batcher) / self.rate))) if self.rate else 1
        return f"{len(self.batcher)} texts wait already. Try again in {seconds} second{'s' * (seconds > 1)}.", seconds

    def end(self, fault):
        """Answer a fault to every request that is here, and end what is computed for them."""
        for waiting in self.here:
            waiting.fail(fault)

    async def close(self):
        """Finish what waits and what is computed. A caller who has found the lane before is still answered then."""
        self.closing = True
        self.wake.set()
        await asyncio.wait([self.loop])  # and not the task itself, which would be cancelled with whoever waits for it
        while self.running:
            await asyncio.wait(self.running)

    async def _take_batches(self):
        while True:
            seconds = self.batcher.seconds_left()
            if seconds is None and self.closing:
                return
            if seconds != 0:
                self.wake.clear()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(seconds):
                        await self.wake.wait()
                continue
            await self.slots.acquire(self)
            batch = self.batcher.take()  # now, because more rows may have come while there was no slot
            if not batch:
                self.slots.release(self)
                continue
            self.meter.count_queued(-len(batch))
            task = asyncio.create_task(self._compute(batch))
            self.running[task] = Run(batch)
            task.add_done_callback(partial(self._finish, batch))

    def _finish(self, batch, task):
        self.running.pop(task)
        self.batcher.done(batch)
        if not task.cancelled() and task.exception():
            self.log("failed", level="error", model=self.meter.model, error=task.exception())

    async def _compute(self, batch):
        loop, run = asyncio.get_running_loop(), self.running[asyncio.current_task()]
        signature, started = batch[0].owner.ask.signature, time.perf_counter()
        try:
            arguments = signature, batch[0].key, [row.payload for row in batch]
            try:
                results = await loop.run_in_executor(self.slots.threads, run.compute, *arguments)
            finally:
                self.slots.release(self)
            if len(results) != len(batch):
                raise ServingError(f"expected {len(batch)} answers, received {len(results)}")
        except StoppedError:
            return
        except Exception as error:
            await self._compute_apart(batch, error)
            return
        for row, result in zip(batch, results, strict=True):
            row.owner.settle(row.place, result)
        seconds = max(time.perf_counter() - started, 1e-6)
        self.meter.count_batch([row.cost for row in batch], seconds)
        now = len(batch) / seconds
        self.rate = 0.9 * self.rate + 0.1 * now if self.rate else now

    async def _compute_apart(self, batch, error):
        """A batch failed: each of its requests is tried alone, so that none costs another its answer."""
        owners = {id(row.owner): row.owner for row in batch}
        if len(owners) == 1:
            self.log("failed", level="error", model=self.meter.model, error=error)
            sentence = f"the model could not answer: {type(error).__name__}. The server's log has more."
            batch[0].owner.fail(Fault("broken", sentence))
            return
        for owner in filter(lambda owner: owner.is_live, owners.values()):
            await self.slots.acquire(self)
            alone = [row for row in batch if row.owner is owner]
            self.running[asyncio.current_task()] = Run(alone)
            await self._compute(alone)


class Lanes:
    """One version of a model: a lane for most requests, and one for those that write for long (`Ask.long`).

    Runs of long ones leave a core to everybody else, and each model has a turn of its own for the others.

    Args:
        soon, late: the `Slots` of all models' lanes of each kind.
        *rest: of both lanes, see `Lane`.
    """

    def __init__(self, soon, late, signatures, batching, queue, meter, log):
        self.meter = meter
        self.soon, self.late = (Lane(signatures, batching, queue, slots, meter, log) for slots in (soon, late))

    async def answer(self, ask, within, caller=None):
        """As of `Lane`."""
        return await (self.late if ask.long else self.soon).answer(ask, within, caller)

    def end(self, long=True):
        """Send the requests away that are here; the long ones, or all."""
        for lane in (self.late,) if long else (self.soon, self.late):
            lane.end(Fault("not_ready", "the server is stopping, and does not wait for what takes long. Ask another."))

    async def close(self):
        """As of `Lane`."""
        await asyncio.gather(self.soon.close(), self.late.close())


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

    def _may_run(self, lane):
        if not self.own:
            return self._busy.total() < self.count
        return not self._busy[lane] or sum(count - 1 for count in self._busy.values() if count) < self.count - 1

    async def acquire(self, lane):
        """Wait for a turn of a lane: first come, first served, as far as lanes share them."""
        if self._may_run(lane):
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
            if self._may_run(turn[0]) and not turn[1].done():
                self._waiting.remove(turn)
                self._busy[turn[0]] += 1
                turn[1].set_result(None)
