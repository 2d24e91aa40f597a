"""Where a training tells how it goes: a CSV file, TensorBoard's event files, the terminal.

A report is called as `report(step, {"loss": ..})` and has `close()`. Each one is opened at the step
from which the training continues and forgets what an interrupted run had written beyond it.
"""

import csv
import importlib.util
import os
import sys
import time
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path

COLUMNS = (
    "step",
    "loss",
    "learning_rate",
    "tokens_per_second",
    "valid_nll",
    "valid_perplexity",
    "valid_accuracy",
)


class CsvLog:
    """One row per report, flushed at once; columns that a report lacks stay empty."""

    def __init__(self, path, step=0):
        path = Path(path)
        rows = _rows_until(path, step) if path.is_file() else []
        beside = path.with_name(f".{path.name}.partial")
        with open(beside, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, COLUMNS)
            writer.writeheader()
            writer.writerows(rows)
        os.replace(beside, path)
        self._file = open(path, "a", newline="", encoding="utf-8")
        self._writer = csv.DictWriter(self._file, COLUMNS)

    def __call__(self, step, values):
        self._writer.writerow({"step": step} | {k: f"{v:.7g}" for k, v in values.items()})
        self._file.flush()

    def close(self):
        self._file.close()


def _rows_until(path, step):
    """The rows of earlier steps; a last line that a kill cut short is dropped."""
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    whole = (row for row in rows if None not in row.values() and row["step"].isdigit())
    return [row for row in whole if int(row["step"]) <= step]


class TensorBoardLog:
    """Scalars as TensorBoard's event files, without TensorFlow."""

    def __init__(self, directory, step=0):
        from tensorboard.compat.proto import event_pb2, summary_pb2
        from tensorboard.summary.writer.record_writer import RecordWriter

        self._event, self._summary = event_pb2, summary_pb2
        Path(directory).mkdir(parents=True, exist_ok=True)
        name = f"events.out.tfevents.{time.time_ns() // 1000:016d}.seqzoo"
        self._file = open(Path(directory) / name, "xb")
        self._writer = RecordWriter(self._file)
        self._write(file_version="brain.Event:2")
        # A start at a step makes TensorBoard drop later steps of earlier files.
        self._write(step=step + 1, session_log=event_pb2.SessionLog(status=1))

    def __call__(self, step, values):
        scalars = [
            self._summary.Summary.Value(tag=tag.replace("valid_", "valid/"), simple_value=value)
            for tag, value in values.items()
        ]
        self._write(step=step, summary=self._summary.Summary(value=scalars))

    def _write(self, **fields):
        event = self._event.Event(wall_time=time.time(), **fields)
        self._writer.write(event.SerializeToString())
        self._writer.flush()

    def close(self):
        self._writer.close()


class Lines:
    """Plain lines, for a file or a pipe."""

    def __init__(self, total, step=0, stream=None):
        self._total, self._first, self._start = total, step, time.monotonic()
        self._stream = stream or sys.stderr

    def __call__(self, step, values):
        share = (time.monotonic() - self._start) / max(step - self._first, 1)
        eta = timedelta(seconds=round(share * (self._total - step)))
        line = f"step {step:,}/{self._total:,}  {describe(values)}  eta {eta}"
        print(line, file=self._stream, flush=True)

    def close(self):
        """Nothing to close: the stream belongs to the caller."""


class Bar:
    """A progress bar, for a terminal."""

    def __init__(self, total, step=0):
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self._progress = Progress(
            TextColumn("step {task.completed:,}/{task.total:,}"),
            BarColumn(),
            TextColumn("{task.description}"),
            TextColumn("eta"),
            TimeRemainingColumn(elapsed_when_finished=True),
            console=Console(stderr=True),
        )
        self._task = self._progress.add_task("compiling", total=total, completed=step)
        self._progress.start()

    def __call__(self, step, values):
        self._progress.update(self._task, completed=step)
        if "valid_nll" in values:
            self._progress.console.print(f"step {step:,}  {describe(values)}", highlight=False)
        else:
            self._progress.update(self._task, description=describe(values))

    def close(self):
        self._progress.stop()


def describe(values):
    """One readable line of the values of a report."""
    formats = {"learning_rate": "{:.2e}", "tokens_per_second": "{:,.0f}"}
    names = {"learning_rate": "lr", "tokens_per_second": "tokens/s"}
    return "  ".join(
        f"{names.get(key, key.replace('_', ' '))} {formats.get(key, '{:.4f}').format(value)}"
        for key, value in values.items()
    )


@contextmanager
def open_reports(directory, step, total):
    """All reports of a run directory as one `report(step, values)`; closed in any case."""
    with ExitStack() as stack:
        terminal = Bar if sys.stderr.isatty() else Lines
        reports = [CsvLog(Path(directory) / "metrics.csv", step), terminal(total, step)]
        if importlib.util.find_spec("tensorboard"):
            reports.append(TensorBoardLog(Path(directory) / "tensorboard", step))
        else:
            print("no TensorBoard log: pip install tensorboard", file=sys.stderr)
        for report in reports:
            stack.callback(report.close)

        def report_all(step, values):
            for report in reports:
                report(step, values)

        yield report_all
