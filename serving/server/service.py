"""A request from its admission to its answer, whatever protocol it came by."""

import asyncio
import contextlib
import time
from dataclasses import dataclass

from serving.server.faults import Fault
from serving.server.tensors import quoted
from serving.server.texts import NAME


@dataclass(frozen=True)
class Answer:
    """The outputs of a request, and the model and version that gave them."""

    model: str
    version: str
    tensors: list


class Service:
    """Answers requests.

    Args:
        models: `serving.server.models.Models`.
        limits: `serving.server.limits.Limits`.
        metrics: `serving.server.metrics.Metrics`.
        log: a function `(event, **fields)`.
        log_requests: whether every request is logged; those that break the server always are.
    """

    def __init__(self, models, limits, metrics, log, log_requests=False):
        self.models, self.limits, self.metrics, self.log = models, limits, metrics, log
        self.log_requests = log_requests
        self.state, self.open = "starting", 0
        self.idle = asyncio.Event()
        self.idle.set()

    @property
    def ready(self):
        return self.state == "ready"

    async def infer(self, protocol, name, version, asked, within=None):
        """The `Answer` of a request.

        Args:
            protocol: the word under which it is counted, such as "v2-http".
            name, version: the model; the version may be None.
            asked: a function from the `Version` to `(signature, tensors, parameters)`; the signature may be None.
            within: seconds, or None; the server's own deadline holds as well.

        Raises:
            Fault: there is no answer.
        """
        started = time.perf_counter()
        with self._counted(protocol, name, started) as count:
            if not self.ready:
                raise Fault("not_ready", f"the server is {self.state}.")
            found = self.models.find(name, version)
            count.update(model=name, version=found.number)
            signature, tensors, parameters = asked(found)
            chosen = found.signatures.get(signature or NAME)
            if chosen is None:
                held = ", ".join(found.signatures)
                raise Fault("invalid", f"{name} has no signature {quoted(signature)}; it has {held}.")
            rows = max((tensor.shape[0] for tensor in tensors if tensor.shape), default=0)
            if rows > self.limits.texts:
                raise Fault(
                    "too_large", f"a request may have {self.limits.texts} texts; received {rows}. Send them in parts."
                )
            ask = chosen.ask(tensors, parameters)
            count["texts"] = len(ask.rows)
            limit = self.limits.deadline if within is None else min(within, self.limits.deadline)
            results = await found.lane.answer(ask, limit)
            found.lane.meter.refused(chosen.refused(results))
            return Answer(name, str(found.number), chosen.tensors(ask, results))

    @contextlib.contextmanager
    def _counted(self, protocol, name, started):
        """Count a request and what becomes of it; whatever is no `Fault` becomes one."""
        count, outcome = {"model": "", "version": "", "texts": 0}, "broken"
        self.open += 1
        self.idle.clear()
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
            self.log("failed", level="error", protocol=protocol, model=count["model"], error=error)
            raise Fault("broken", f"the server failed: {type(error).__name__}. Its log has more.") from error
        finally:
            self.open -= 1
            if not self.open:
                self.idle.set()
            seconds = time.perf_counter() - started
            self.metrics.request(count["model"], count["version"], protocol, outcome, seconds)
            if self.log_requests:
                self.log("request", protocol=protocol, outcome=outcome, ms=round(1e3 * seconds, 2), **count)
