"""Logs: truncation on resume, event files readable by TensorBoard, lines without a terminal."""

import csv
import io
import struct
import sys
import time

from tensorboard.compat.proto import event_pb2

from zoo.training import reports

REPORT = {"loss": 7.0, "mean_loss": 0.5, "learning_rate": 1e-3, "tokens_per_second": 5e3}


def test_csv_forgets_what_lies_beyond_the_checkpoint(tmp_path):
    path = tmp_path / "metrics.csv"
    log = reports.CsvLog(path)
    log.on_train_begin({"step": 0})
    for step in range(6):
        log.on_train_batch_end(step, REPORT | {"mean_loss": (step + 1) / 10} if step % 2 else {"loss": 7.0})
    log.close()
    with open(path, "a") as file:
        file.write("8,0.")  # a row cut short by a kill
    log = reports.CsvLog(path)
    log.on_train_begin({"step": 4})
    log.on_train_batch_end(0, {"loss": 7.0})
    log.on_epoch_end(0, {"loss": 3.0, "val_loss": 2.5, "val_nll": 2.5})
    log.on_train_end()
    with open(path) as file:
        rows = list(csv.DictReader(file))
    assert [(row["step"], row["loss"], row["valid_nll"]) for row in rows] == [
        ("2", "0.2", ""),
        ("4", "0.4", ""),
        ("5", "", "2.5"),
    ]


def test_events_are_what_tensorboard_reads(tmp_path):
    log = reports.TensorBoardLog(tmp_path)
    log.on_train_begin({"step": 3})
    log.write(7, {"loss": 0.5, "valid_nll": 2.0})
    log.on_train_end()
    (path,) = tmp_path.iterdir()
    data, events = path.read_bytes(), []
    while data:
        (length,) = struct.unpack("<Q", data[:8])
        events.append(event_pb2.Event.FromString(data[12 : 12 + length]))
        data = data[16 + length :]
    version, start, scalars = events
    assert version.file_version == "brain.Event:2"
    assert (start.step, start.session_log.status) == (4, 1)
    found = {value.tag: value.simple_value for value in scalars.summary.value}
    assert scalars.step == 7 and found == {"loss": 0.5, "valid/nll": 2.0}


def lines(total, step, **settings):
    log = reports.Lines(total, io.StringIO(), **settings)
    log.on_train_begin({"step": step, "message": "one batch shape, token_ids 2 x 3"})
    return log


def test_lines_for_a_pipe():
    log = lines(2000, 999)
    log.on_train_batch_begin(0, {"message": "compiling shape 1 of 1: token_ids 2 x 3"})
    log.on_train_batch_end(0, REPORT | {"message": "first step of shape 1 after 2.0 s, loss 7.0000"})
    log.on_train_end()
    first, second, third, fourth = log._stream.getvalue().splitlines()
    assert first == "step 999/2,000  one batch shape, token_ids 2 x 3"
    assert second == "step 999/2,000  compiling shape 1 of 1: token_ids 2 x 3"
    assert third == "step 1,000/2,000  first step of shape 1 after 2.0 s, loss 7.0000"
    assert fourth.startswith("step 1,000/2,000  loss 0.5000  tokens/s 5,000  lr 1.00e-03  eta 0:00")


def test_a_validation_before_the_first_step_tells_no_time():
    """A run that goes on where a validation is due; its seconds are not those of a step."""
    log = lines(2_000, 1_000)
    log._start -= 30
    log.on_epoch_end(0, {"val_nll": 2.5})
    log.on_train_end()
    assert log._stream.getvalue().splitlines()[-1].endswith("valid nll 2.5000  eta unknown")


def test_a_run_beyond_its_last_step_has_no_time_left():
    """It goes on with fewer steps than it has done."""
    log = lines(500, 999)
    log._start -= 30
    log.on_train_batch_end(0, REPORT)
    log.on_train_end()
    assert log._stream.getvalue().splitlines()[-1].endswith("eta 0:00:00")


def test_lines_are_never_silent_for_long():
    log = lines(20, 0, quiet=0.05)
    log.on_train_batch_begin(0, {"message": "compiling shape 1 of 4: token_ids 2 x 3"})
    time.sleep(0.3)  # a long compilation
    log.on_train_batch_end(0, {"loss": 7.0})
    time.sleep(0.3)  # long steps
    log.on_train_end()
    said = log._stream.getvalue()
    assert said.count("step 0/20  still compiling shape 1 of 4 for 0 s") >= 2
    assert said.count("step 1/20  still training\n") >= 2
    time.sleep(0.2)
    assert log._stream.getvalue() == said, "the end is the end"


def test_a_bar_for_a_terminal(capsys):
    bar = reports.Bar(20)
    bar.on_train_begin({"step": 4, "message": "one batch shape, [2 x 3]"})
    bar.on_train_batch_begin(0, {"message": "compiling shape 1 of 1: [2 x 3]"})
    for step in range(6):
        bar.on_train_batch_end(step, REPORT)
    bar.on_epoch_end(0, {"val_nll": 3.0})
    bar.on_train_end()
    shown = capsys.readouterr().err
    assert "10/20" in shown and "valid nll 3.0000" in shown
    assert "step 4  one batch shape, [2 x 3]" in shown and "step 4  compiling shape 1 of 1: [2 x 3]" in shown


def test_a_missing_tensorboard_is_said_once(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    monkeypatch.setattr(reports.importlib.util, "find_spec", lambda name: None)
    with reports.open_reports(tmp_path, 4) as opened:
        for each in opened:
            each.on_train_begin({"step": 0})
            each.on_train_batch_end(0, REPORT)
    assert capsys.readouterr().err.count("pip install tensorboard") == 1
    assert not (tmp_path / "tensorboard").exists()
