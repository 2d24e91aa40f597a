"""One JSON object for each event, on standard error. It never holds a text of a request, nor an answer."""

import datetime
import json
import logging
import re
import sys
import traceback

from serving.runtime.errors import ServingError


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
