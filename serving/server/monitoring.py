"""What the operator of a server sees: events on standard error, and the metrics that Prometheus reads at /metrics.

An event is one JSON object. It never holds a text of a request, nor an answer.
"""

import datetime
import json
import logging
import re
import sys
import traceback

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)

from serving.runtime.errors import ServingError

SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60)
TEXTS = (1, 2, 4, 8, 16, 24, 32, 48, 64, 128, 256)
MODEL = ("model", "version")


class Log:
    """Writes events, each as one line.

    Args:
        stream: where to; standard error if it is None.
    """

    def __init__(self, stream=None):
        self.stream = stream

    def __call__(self, event, level="info", error=None, **fields):
        """Write one event.

        Args:
            event: what happened, a word.
            level: info, warning or error.
            error: an exception. Its message is written only if it is about an artefact or a file; that of any other may
                quote a text, so that its type and place are written instead.
            **fields: values that JSON has.
        """
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
        record = {"time": now.replace("+00:00", "Z"), "level": level, "event": event, **fields}
        if error is not None:
            record["error"] = type(error).__name__
            if isinstance(error, ServingError | OSError):
                record["message"] = str(error)
            else:
                frames = traceback.extract_tb(error.__traceback__)
                record["where"] = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames[-8:]]
        stream = self.stream or sys.stderr
        try:
            stream.write(json.dumps(record) + "\n")  # ASCII: no name steers a terminal or ends a line
            stream.flush()
        except (OSError, ValueError):
            pass  # a full disk or a closed pipe must not stop the server


class Handler(logging.Handler):
    """Passes warnings of the libraries on: the name of the logger and of the exception, and no message of a request.

    Args:
        log: `Log`.
    """

    def __init__(self, log):
        super().__init__(logging.WARNING)
        self.log = log

    def emit(self, record):
        error = record.exc_info[1] if record.exc_info else None
        # `record.msg` is the library's own sentence, without the arguments, which may be a caller's. asyncio puts in it
        # what was called and how a task has ended: what stands in brackets, and in further lines, may quote a text.
        sentence = re.split(r"[\n(<]", str(record.msg), maxsplit=1)[0].strip()[:200]
        self.log("library", level=record.levelname.lower(), logger=record.name, log_message=sentence, error=error)


def capture(log):
    """Send what uvicorn, grpc and asyncio log to `log`, and nowhere else."""
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access", "grpc", "grpc._cython", "asyncio"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [Handler(log)], False


class Metrics:
    """The counters of one server."""

    def __init__(self):
        disable_created_metrics()  # a second series for each counter, which says when it began
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)

        def make(kind, name, words, labels, **kwargs):
            return kind(f"seqzoo_{name}", words, labels, registry=self.registry, **kwargs)

        self.requests = make(Counter, "requests", "Requests by what became of them.", (*MODEL, "protocol", "outcome"))
        self.seconds = make(
            Histogram, "request_seconds", "From admission to answer.", (*MODEL, "protocol"), buckets=SECONDS
        )
        self.texts = make(Counter, "texts", "Texts, or rows of ids, that were computed.", MODEL)
        self.refused = make(Counter, "refused_texts", "Texts that were answered with an error of their own.", MODEL)
        self.warned = make(Counter, "warned_texts", "Texts that were answered with a warning.", MODEL)
        self.tokens = make(Counter, "tokens", "Tokens that were read, without padding.", MODEL)
        self.padded = make(Counter, "padded_tokens", "Tokens that were read, with padding.", MODEL)
        self.dropped = make(Counter, "dropped_texts", "Texts that nobody waited for when their turn came.", MODEL)
        self.batches = make(Histogram, "batch_texts", "Texts of a batch.", MODEL, buckets=TEXTS)
        self.computing = make(Histogram, "batch_seconds", "Computing a batch.", MODEL, buckets=SECONDS)
        self.queue = make(Gauge, "queue_texts", "Texts that wait.", MODEL)
        self.loaded = make(Gauge, "model_loaded", "1 for the version that answers.", MODEL)
        self.open = make(Gauge, "open_requests", "Requests that were taken on and are not answered.", ())
        self.failures = make(Counter, "load_failures", "Versions that could not be loaded.", ("model",))

    def make_meter(self, model, version):
        return Meter(self, model, str(version))

    def count_request(self, model, version, protocol, outcome, seconds):
        """Count a request. `outcome` is "answered" or the kind of its fault."""
        self.requests.labels(model, str(version), protocol, outcome).inc()
        if outcome == "answered":
            self.seconds.labels(model, str(version), protocol).observe(seconds)

    def expose(self):
        """The text that Prometheus reads."""
        return generate_latest(self.registry)


class Meter:
    """The metrics of one version of a model."""

    def __init__(self, metrics, model, version):
        self.metrics, self.model, self.version = metrics, model, version
        labels = model, version
        self._queue, self._dropped = metrics.queue.labels(*labels), metrics.dropped.labels(*labels)
        self._refused, self._warned = metrics.refused.labels(*labels), metrics.warned.labels(*labels)
        self._texts, self._tokens = metrics.texts.labels(*labels), metrics.tokens.labels(*labels)
        self._padded = metrics.padded.labels(*labels)
        self._batches, self._computing = metrics.batches.labels(*labels), metrics.computing.labels(*labels)
        metrics.loaded.labels(*labels).set(1)

    def count_queued(self, more):
        """Count texts that begin to wait, or, below 0, that wait no longer."""
        self._queue.inc(more)

    def count_dropped(self, count):
        self._dropped.inc(count)

    def count_answered(self, refused, warned):
        """Count answered texts that have an error, and those that have a warning."""
        self._refused.inc(refused)
        self._warned.inc(warned)

    def count_batch(self, costs, seconds):
        self._texts.inc(len(costs))
        self._tokens.inc(sum(costs))
        self._padded.inc(len(costs) * max(costs))
        self._batches.observe(len(costs))
        self._computing.observe(seconds)

    def close(self):
        """Remove the gauges of a version that answers no longer."""
        for gauge in (self.metrics.queue, self.metrics.loaded):
            gauge.remove(self.model, self.version)
