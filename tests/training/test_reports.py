"""Logs: truncation on resume, event files readable by TensorBoard, lines without a terminal."""

import csv
import io
import struct
import sys

import pytest

from zoo.training import reports


def test_csv_forgets_what_lies_beyond_the_checkpoint(tmp_path):
    path = tmp_path / "metrics.csv"
    log = reports.CsvLog(path)
    for step in (2, 4, 6):
        log(step, {"loss": step / 10, "learning_rate": 1e-3})
    log.close()
    with open(path, "a") as file:
        file.write("8,0.")  # a row cut short by a kill
    log = reports.CsvLog(path, step=4)
    log(6, {"valid_nll": 2.5})
    log.close()
    with open(path) as file:
        rows = list(csv.DictReader(file))
    assert [(row["step"], row["loss"], row["valid_nll"]) for row in rows] == [
        ("2", "0.2", ""),
        ("4", "0.4", ""),
        ("6", "", "2.5"),
    ]


def test_events_are_what_tensorboard_reads(tmp_path):
    event_pb2 = pytest.importorskip("tensorboard.compat.proto.event_pb2")
    log = reports.TensorBoardLog(tmp_path, step=3)
    log(7, {"loss": 0.5, "valid_nll": 2.0})
    log.close()
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


def test_lines_for_a_pipe():
    stream = io.StringIO()
    reports.Lines(2000, 0, stream)(1000, {"loss": 2.0, "learning_rate": 1e-3, "tokens_per_second": 5e3})
    line = stream.getvalue()
    assert line.startswith("step 1,000/2,000  loss 2.0000  lr 1.00e-03  tokens/s 5,000  eta 0:00")


def test_a_bar_for_a_terminal(capsys):
    bar = reports.Bar(20, step=4)
    bar(10, {"loss": 1.0})
    bar(10, {"valid_nll": 3.0})
    bar.close()
    shown = capsys.readouterr().err
    assert "10/20" in shown and "valid nll 3.0000" in shown


def test_a_missing_tensorboard_is_said_once(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    monkeypatch.setattr(reports.importlib.util, "find_spec", lambda name: None)
    with reports.open_reports(tmp_path, 0, 4) as report:
        report(2, {"loss": 1.0})
        report(4, {"loss": 1.0})
    assert capsys.readouterr().err.count("pip install tensorboard") == 1
    assert not (tmp_path / "tensorboard").exists()
