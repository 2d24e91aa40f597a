"""What is shown of answers: each as a line or a JSON object, and how far a long piece of work is."""

import dataclasses
import json
import sys
import time

from zoo.core.escaping import plain_stream
from zoo.core.wording import quantity

from .screen import escape

PAGE = "\t\r\n"  # what an answer of several lines keeps
EVERY = 10.0  # seconds between two lines of progress


def line(kind, number, text, result, n_best):
    """The answer to text `number` as a line, or with `n_best` as several lines."""
    if n_best is None:
        return kind.line(result, escape)
    return "\n".join(kind.lines(number, result, lambda text: escape(text, "\t")))  # a tab divides two columns


def record(kind, number, text, result, n_best):
    """The answer to a text as a JSON object, in one line to every reader of lines."""
    fields = dataclasses.asdict(result)
    remarks = {name: remark for name in ("error", "warning") if (remark := fields.pop(name))}
    fields = kind.record(fields, n_best) | ({} if result.confidence is None else {"confidence": result.confidence})
    return escape(json.dumps({"input": text} | fields | remarks, ensure_ascii=False))


class Progress:
    """The progress of a long piece of work: a bar on a terminal, if rich is installed; plain lines elsewhere.

    It is called with the number of texts done and the share of the whole; the first call says where it begins.

    Args:
        unit: what is counted, such as "line".
    """

    def __init__(self, unit):
        self.unit, self._bar, self._first = unit, None, None
        self._started = self._printed = time.monotonic()

    def __call__(self, count, share):
        now = time.monotonic()
        if self._first is None:
            self._first, self._started, self._printed = (count, share), now, now
            self._bar = _make_bar()
        words = self._describe(count, share, now - self._started)
        if self._bar:
            self._bar.update(self._bar.task_ids[0], completed=share, description=words)
        elif now - self._printed >= EVERY:
            self._printed = now
            print(f"{share:4.0%}  {words}", file=sys.stderr, flush=True)

    def rate(self, count):
        """Texts a second since the first call."""
        return (count - self._first[0]) / max(1e-9, time.monotonic() - self._started) if self._first else 0.0

    def _describe(self, count, share, seconds):
        rate, moved = self.rate(count), share - self._first[1]
        left = f", {clock(seconds * (1 - share) / moved)} left" if moved > 0 else ""
        return f"{quantity(count, self.unit)}, {rate:,.0f} a second{left}"

    def summary(self, count):
        """What was done since the first call, in words."""
        if not self._first or count == self._first[0]:
            return "nothing was left to do"
        return f"{self.rate(count):,.0f} a second in {clock(time.monotonic() - self._started)}"

    def close(self):
        """Leave the terminal as it was."""
        if self._bar:
            self._bar.stop()


def _make_bar():
    if not sys.stderr.isatty():
        return None
    try:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

    except ImportError:
        return None
    columns = TextColumn("{task.percentage:3.0f} %"), BarColumn(), TextColumn("{task.description}", markup=False)
    bar = Progress(*columns, console=Console(file=plain_stream(sys.stderr)))
    bar.add_task("", total=1.0)
    bar.start()
    return bar


def clock(seconds):
    """Seconds as minutes or hours.

    >>> from seqzoo.answers import clock
    >>> clock(7), clock(75), clock(7275)
    ('0:07', '1:15', '2:01:15')
    """
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"
