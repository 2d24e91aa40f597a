"""The reports of a training: a CSV file, TensorBoard's event files, and the terminal.

Each report is a `keras.callbacks.Callback` of `zoo.training.fit` (`zoo.training.callbacks` lists the calls and their
logs). It is opened at the step from which the training continues; entries of later steps, which an interrupted run
wrote, are removed.
"""

import csv
import importlib.util
import io
import sys
import threading
import time
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path

import keras

from zoo.core.escaping import plain_stream
from zoo.core.later import later
from zoo.core.storage import write_text

event_pb2 = later("tensorboard.compat.proto.event_pb2")
summary_pb2 = later("tensorboard.compat.proto.summary_pb2")
record_writer = later("tensorboard.summary.writer.record_writer")
rich_console = later("rich.console")
rich_progress = later("rich.progress")

SCORES = ("nll", "perplexity", "accuracy", "wer", "entity_f1", "spearman")  # of a validation
COLUMNS = ("step", "loss", "learning_rate", "tokens_per_second", *(f"valid_{name}" for name in SCORES))
QUIET = 30.0  # seconds without output after which `Lines` says that the training is still running


class Report(keras.callbacks.Callback):
    """Translates the calls of a callback into `write(step, values)` for values, and `note(text)` for messages."""

    step = 0

    def open(self, step):
        """Begin after the entries that were written up to `step`."""

    def write(self, step, values):
        """Report the values of a training window, or of a validation (`valid_...`)."""

    def note(self, text):
        """Report that something begins which may take long."""

    def close(self):
        """End the report. It is always called, also after an error, and may be called twice."""

    def on_train_begin(self, logs=None):
        self.step = (logs or {}).get("step", 0)
        self.open(self.step)
        self._note(logs)

    def on_train_batch_begin(self, batch, logs=None):
        self._note(logs)

    def on_train_batch_end(self, batch, logs=None):
        self.step += 1
        self._note(logs)
        if "mean_loss" in (logs or {}):
            own = {name: logs[name] for name in ("tokens_per_second", "learning_rate")}
            self.write(self.step, {"loss": logs["mean_loss"], **own})

    def on_test_begin(self, logs=None):
        self._note(logs)

    def on_test_batch_begin(self, batch, logs=None):
        self._note(logs)

    def on_epoch_end(self, epoch, logs=None):
        self.write(self.step, {f"valid_{name}": logs[f"val_{name}"] for name in SCORES if f"val_{name}" in logs})

    def on_train_end(self, logs=None):
        self.close()

    def _note(self, logs):
        if logs and "message" in logs:
            self.note(logs["message"])


class CsvLog(Report):
    """One row for each report, flushed at once. Columns for which a report has no value stay empty."""

    def __init__(self, path):
        super().__init__()
        self._path, self._file = Path(path), None

    def open(self, step):
        path = self._path
        rows = _rows_until(path, step) if path.is_file() else []
        text = io.StringIO(newline="")
        writer = csv.DictWriter(text, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
        write_text(path, text.getvalue())
        self._file = open(path, "a", newline="", encoding="utf-8")

    def write(self, step, values):
        row = {"step": step} | {name: f"{value:.7g}" for name, value in values.items()}
        csv.DictWriter(self._file, COLUMNS).writerow(row)
        self._file.flush()

    def close(self):
        if self._file:
            self._file.close()


def _rows_until(path, step):
    """The rows up to `step`. An incomplete last line, which a killed process leaves, is dropped."""
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    whole = (row for row in rows if None not in row.values() and row["step"].isdigit())
    return [row for row in whole if int(row["step"]) <= step]


class TensorBoardLog(Report):
    """Writes scalars to TensorBoard's event files. Unlike `keras.callbacks.TensorBoard`, it needs no TensorFlow."""

    def __init__(self, directory):
        super().__init__()
        self._directory, self._writer = Path(directory), None

    def open(self, step):
        self._directory.mkdir(parents=True, exist_ok=True)
        name = f"events.out.tfevents.{time.time_ns() // 1000:016d}.seqzoo"
        self._writer = record_writer.RecordWriter(open(self._directory / name, "xb"))
        self._append(file_version="brain.Event:2")
        # An event that marks a start at this step makes TensorBoard hide later steps of earlier files.
        self._append(step=step + 1, session_log=event_pb2.SessionLog(status=1))

    def write(self, step, values):
        scalars = [
            summary_pb2.Summary.Value(tag=tag.replace("valid_", "valid/"), simple_value=value)
            for tag, value in values.items()
        ]
        self._append(step=step, summary=summary_pb2.Summary(value=scalars))

    def _append(self, **fields):
        event = event_pb2.Event(wall_time=time.time(), **fields)
        self._writer.write(event.SerializeToString())
        self._writer.flush()

    def close(self):
        if self._writer:
            self._writer.close()
            self._writer = None


class Lines(Report):
    """Plain lines, for a file or a pipe. After `quiet` seconds without one, a line says that the training continues."""

    def __init__(self, total, stream=None, quiet=QUIET):
        super().__init__()
        self._total, self._stream, self._quiet = total, stream or sys.stderr, quiet
        self._closed, self._doing = threading.Event(), "training"

    def open(self, step):
        self._first, self._start = step, time.monotonic()
        self._closed.clear()
        self._last_output = self._doing_since = self._start
        threading.Thread(target=self._reassure, daemon=True).start()

    def write(self, step, values):
        finished, remaining = step - self._first, max(0, self._total - step)
        seconds = time.monotonic() - self._start
        eta = timedelta(seconds=round(seconds / finished * remaining)) if finished else "unknown"
        self._print(step, f"{describe(values)}  eta {eta}")

    def note(self, text):
        self._doing, self._doing_since = text.partition(":")[0], time.monotonic()
        self._print(self.step, text)

    def on_train_batch_end(self, batch, logs=None):
        super().on_train_batch_end(batch, logs)
        self._doing = "training"

    def _print(self, step, text):
        self._last_output = time.monotonic()
        print(f"step {step:,}/{self._total:,}  {text}", file=self._stream, flush=True)

    def _reassure(self):
        while not self._closed.wait(self._quiet / 4):
            now = time.monotonic()
            if now - self._last_output >= self._quiet:
                since = f" for {now - self._doing_since:.0f} s" if self._doing != "training" else ""
                self._print(self.step, f"still {self._doing}{since}")

    def close(self):
        self._closed.set()


class Bar(Report):
    """A progress bar on a terminal."""

    def __init__(self, total):
        super().__init__()
        self._total, self._progress = total, None

    def open(self, step):
        self._progress = rich_progress.Progress(
            rich_progress.TextColumn("step {task.completed:,}/{task.total:,}"),
            rich_progress.BarColumn(),
            rich_progress.TextColumn("{task.description}"),
            rich_progress.TimeElapsedColumn(),
            rich_progress.TextColumn("eta"),
            rich_progress.TimeRemainingColumn(elapsed_when_finished=True),
            console=rich_console.Console(file=plain_stream(sys.stderr)),
        )
        self._task = self._progress.add_task("", total=self._total, completed=step)
        self._progress.start()

    def write(self, step, values):
        self._progress.update(self._task, completed=step)
        if "valid_nll" in values:
            self._print(f"step {step:,}  {describe(values)}")
        else:
            self._progress.update(self._task, description=describe(values))

    def note(self, text):
        self._progress.update(self._task, completed=self.step, description=text.partition(":")[0])
        self._print(f"step {self.step:,}  {text}")

    def _print(self, text):
        self._progress.console.print(text, highlight=False, markup=False)

    def close(self):
        if self._progress:
            self._progress.stop()


def describe(values):
    """The values of a report as one readable line."""
    formats = {"learning_rate": "{:.2e}", "tokens_per_second": "{:,.0f}"}
    names = {"learning_rate": "lr", "tokens_per_second": "tokens/s"}
    return "  ".join(
        f"{names.get(key, key.replace('_', ' '))} {formats.get(key, '{:.4f}').format(value)}"
        for key, value in values.items()
    )


@contextmanager
def open_reports(directory, total):
    """The reports of a run directory and of the terminal. They are always closed, also after an error."""
    terminal = Bar if sys.stderr.isatty() else Lines
    reports = [CsvLog(Path(directory) / "metrics.csv"), terminal(total)]
    if importlib.util.find_spec("tensorboard"):
        reports.append(TensorBoardLog(Path(directory) / "tensorboard"))
    else:
        print("no TensorBoard log is written: install it with pip install tensorboard", file=sys.stderr)
    with ExitStack() as stack:
        for report in reports:
            stack.callback(report.close)
        yield reports
