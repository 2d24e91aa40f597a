"""A request from its admission to its answer, whatever protocol it came by."""

import asyncio
import contextlib
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from weakref import WeakValueDictionary

from serving.server.door import Door
from serving.server.faults import Fault, invalid, late
from serving.server.signatures import NAME
from serving.server.tensors import quote, too_many_fault

AT_ONCE = 16 << 10  # bytes of a body whose work takes a millisecond or two
THREADS = 4  # callers who have a turn at the same time


@dataclass(frozen=True)
class Answer:
    """The outputs of a request, and the model and version that gave them."""

    model: str
    version: str
    tensors: list


@dataclass
class Count:
    """What is counted of a request: who asks whom, by which protocol, how many bytes and texts, and since when."""

    protocol: str
    caller: object = None
    size: int = 0
    model: str = ""
    version: object = ""
    texts: int = 0
    started: float = field(default_factory=time.perf_counter)


class Service:
    """Answers requests.

    Args:
        models: `serving.server.models.Models`.
        limits: `serving.server.limits.Limits`.
        metrics: `serving.server.monitoring.Metrics`.
        log: a function `(event, **fields)`.
        log_requests: whether every request is logged; those that break the server always are.
        door: `serving.server.door.Door`; without one everybody is let in.
    """

    def __init__(self, models, limits, metrics, log, log_requests=False, door=None):
        self.models, self.limits, self.metrics, self.log = models, limits, metrics, log
        self.log_requests, self.desk, self.door = log_requests, Desk(), door or Door()
        self.state, self.open = "starting", 0
        self.held_bytes = 0  # bytes of all requests that are here
        self.idle = asyncio.Event()
        self.idle.set()

    @property
    def ready(self):
        return self.state == "ready"

    async def infer(self, count, name, version, read_request, within=None):
        """The `Answer` of a request.

        Args:
            count: the `Count` of `counting`; its time begins now.
            name, version: the model; the version may be None.
            read_request: a function from the `Version` to `(signature, tensors, parameters, outputs)`; the signature
                may be None, and no name of an output stands for all of them.
            within: seconds, or None; the server's own deadline holds as well.

        Raises:
            Fault: there is no answer.
        """
        count.started = time.perf_counter()
        with self._count_open():
            if not self.ready:
                raise Fault("not_ready", f"the server is {self.state}.")
            model = self.models.find(name, version)
            count.model, count.version = name, model.number
            limit = self.limits.deadline if within is None else min(within, self.limits.deadline)
            try:
                async with asyncio.timeout(limit):
                    signature, ask = await self.desk.do(count, self._read, model, name, read_request)
            except TimeoutError:
                raise late(limit) from None
            count.texts = len(ask.rows)
            left = limit + count.started - time.perf_counter()
            results = await model.lane.answer(ask, max(left, 1e-3), count.caller)
            model.lane.meter.count_answered(*signature.count_remarks(results))
            return Answer(name, str(model.number), await self.desk.do(count, signature.tensors, ask, results))

    def _read(self, model, name, read_request):
        """`(signature, Ask)` of what is asked of a version; it may run in a thread."""
        signature_name, tensors, parameters, outputs = read_request(model)
        signature = model.signatures.get(signature_name or NAME)
        if signature is None:
            names = ", ".join(model.signatures)
            raise invalid(f"{name} has no signature {quote(signature_name)}; it has {names}.")
        known = [each["name"] for each in signature.outputs]
        if missing := [each for each in outputs if each not in known]:
            names = ", ".join(map(quote, missing))
            raise invalid(f"there is no output {names}; this signature has {', '.join(known)}.")
        rows = max((tensor.shape[0] for tensor in tensors if tensor.shape), default=0)
        if rows > self.limits.texts:
            raise too_many_fault(self.limits.texts, rows)
        ask, most = signature.ask(tensors, parameters), max(self.limits.texts, self.limits.queue)
        if len(ask.rows) > most:  # sentences of few texts, which would leave no room for anybody else
            raise too_many_fault(most, len(ask.rows), "sentences")
        if ask.long and ask.written > self.limits.written:
            raise Fault(
                "too_large",
                f"requests may have {self.limits.written:,} tokens written by several runs of the model; this one asks "
                f"for {ask.written:,}. Send fewer texts at once, or ask for shorter outputs or fewer of them.",
            )
        return signature, ask

    @contextlib.contextmanager
    def counting(self, protocol, name=None):
        """Count a request, from its first byte to its answer, and what becomes of it.

        It gives a `Count`. Whatever is no `Fault` becomes one.

        Args:
            protocol: the word under which it is counted, such as "v2-http".
            name: the model, if it is known already; one that is not here is counted as none.
        """
        count, outcome = Count(protocol), "broken"
        if model := self.models.current.get(name):
            count.model, count.version = name, model.number
        try:
            yield count
            outcome = "answered"
        except Fault as fault:
            outcome = fault.kind
            raise
        except asyncio.CancelledError:
            outcome = "gone"
            raise
        except Exception as error:
            self.log("failed", level="error", protocol=protocol, model=count.model, error=error)
            raise Fault("broken", f"the server failed: {type(error).__name__}. Its log has more.") from error
        finally:
            seconds = time.perf_counter() - count.started
            self.metrics.count_request(count.model, count.version, protocol, outcome, seconds)
            if self.log_requests:
                fields = {"model": count.model, "version": count.version, "texts": count.texts}
                self.log("request", protocol=protocol, outcome=outcome, ms=round(1e3 * seconds, 2), **fields)

    @contextlib.contextmanager
    def holding(self):
        """It gives a function that counts bytes among those of all requests that are here, until the block ends.

        The function raises a `Fault` if they are more than the limits allow.
        """
        mine = 0

        def hold(size):
            nonlocal mine
            mine += size
            self.held_bytes += size
            if self.held_bytes > self.limits.total_bytes:
                raise Fault("busy", "the requests that are here already fill the server's memory. Try again.")

        try:
            yield hold
        finally:
            self.held_bytes -= mine

    @contextlib.contextmanager
    def _count_open(self):
        """Count a request as open: the server does not end before it is answered."""
        self.open += 1
        self.metrics.open.inc()
        self.idle.clear()
        try:
            yield
        finally:
            self.open -= 1
            self.metrics.open.dec()
            if not self.open:
                self.idle.set()


class Desk:
    """Does the work of requests: what may take more than a moment away from the event loop, one thing a caller."""

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
