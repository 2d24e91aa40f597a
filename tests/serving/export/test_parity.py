"""The check of parity finds what is wrong, and says where."""

import re
import sys

import numpy as np
import pytest

from serving.export.kinds.base import BATCHES, PADDINGS, TIMES, grid
from serving.export.parity import compare
from serving.export.parity.check import Case, Report, load_cases, save_cases
from serving.export.parity.expected import stack
from serving.runtime.errors import ParityError
from tests.serving import fake_artefact


def test_the_grid_is_whole_and_foreign_padding_differs_in_padding_alone():
    cases = list(grid(9))
    shapes = [case["token_ids"].shape for case in cases]
    assert shapes[:: len(PADDINGS)] == [(batch, time) for batch in BATCHES for time in TIMES]
    assert len(cases) == len(BATCHES) * len(TIMES) * len(PADDINGS)
    differ = 0
    for ragged, foreign in zip(cases[1::3], cases[2::3], strict=True):
        inside = np.arange(ragged["token_ids"].shape[1]) < ragged["lengths"][:, None]
        assert (ragged["lengths"] == foreign["lengths"]).all() and ragged["lengths"].min() >= 1
        assert (ragged["token_ids"] == foreign["token_ids"])[inside].all()
        assert (ragged["token_ids"][inside] > 3).all()
        differ += (ragged["token_ids"] != foreign["token_ids"]).sum()
    assert differ > 50


@pytest.mark.parametrize(
    ("expected", "received", "message"),
    [
        (np.float32([1.0, 2.0]), np.float32([1.0, 2.001]), "ONNX x in here: differs by 0.001, allowed 0.0001"),
        (np.float32([1.0]), np.float32([np.nan]), "differs by nan"),
        (np.float32([200.0]), np.float32([200.03]), "differs by 0.03"),
        (np.float32([1.0]), np.float32([[1.0]]), r"expected \(1,\) \[1.0\], received \(1, 1\)"),
        (np.int32([1, 2]), np.int32([1, 3]), "1 of 2 rows differ, the first at row 1: expected 2, received 3"),
        (np.array(["ä"]), np.array([b"a"], object), r"expected .*'ä'.*received .*'a'"),
    ],
)
def test_differences_are_reported(expected, received, message):
    report = Report()
    report.compare("ONNX x", "here", expected, received)
    (failure,) = report.failures
    assert re.search(message, failure)


def test_what_agrees_is_no_failure():
    report = Report()
    report.compare("x", "here", np.float32([1.0, -1e9]), np.float32([1.00001, -1e9]))
    report.compare("w", "here", np.float32([-200.0]), np.float32([-200.01]))
    report.compare("y", "here", np.array(["ä", ""]), np.array(["ä".encode(), b""], object))
    report.compare("z", "here", np.zeros((2, 0), "float32"), np.zeros((2, 0), "float32"))
    assert report.failures == [] and report.largest["x"] == pytest.approx(1e-5, rel=0.1)


def test_rows_of_different_length_are_stacked():
    assert stack([np.array([1, 2]), np.array([3])]).tolist() == [[1, 2], [3, 0]]
    assert stack([np.array(["a"]), np.array([], dtype="U1"), np.array(["bc", "d"])]).tolist() == [
        ["a", ""],
        ["", ""],
        ["bc", "d"],
    ]
    assert stack([np.array(1.5), np.array(2.5)]).tolist() == [1.5, 2.5]


def test_cases_come_out_of_their_file_as_they_went_in(tmp_path):
    ids, texts = np.array([[5], [6]], "int32"), np.array(["ä", ""])
    many = [Case("tag", {"token_ids": ids}, {"scores": np.float32([0.5, 1])}) for _ in range(11)]
    cases = [*many, Case("serving_default", {"text": texts}, {"tags": texts}, {"scores": np.float32(2)}, [1])]
    save_cases(tmp_path / "cases.npz", cases)
    again = load_cases(tmp_path / "cases.npz")
    for one, other in zip(again, cases, strict=True):
        assert (one.name, one.spread, one.left_out) == (other.name, other.spread, other.left_out)
        assert (one.inputs.keys(), one.outputs.keys()) == (other.inputs.keys(), other.outputs.keys())
        for key, value in (one.inputs | one.outputs).items():
            np.testing.assert_array_equal(value, (other.inputs | other.outputs)[key])


def runs(monkeypatch, code):
    """Let another program be the process of the check, and no model be asked."""
    monkeypatch.setattr(compare.own, "command", lambda module, report: [sys.executable, "-c", code, str(report)])
    case = Case("tag", {"token_ids": np.zeros((1, 1), "int32")}, {})
    monkeypatch.setattr(compare, "expectation", lambda *inputs: [case])


@pytest.mark.parametrize(
    "code", ["raise SystemExit('too bad')", "import sys; sys.stdin.readline(); sys.exit('too bad')"]
)
def test_a_check_that_ends_early_is_no_success(code, tmp_path, monkeypatch):
    runs(monkeypatch, code)
    with compare.checker() as parity, pytest.raises(ParityError, match=r"did not finish \(exit 1\):\ntoo bad"):
        parity.compare(None, (), fake_artefact.write(tmp_path, "tag"), [])
    assert parity.process.returncode == 1 and not parity.work.exists()


def test_a_process_that_has_ended_already_says_why(tmp_path, monkeypatch):
    runs(monkeypatch, "raise SystemExit('too bad')")
    with compare.checker() as parity:
        parity.process.wait(30)
        parity._tell(tmp_path)  # as the second process of a comparison is told
        with pytest.raises(ParityError, match=r"did not finish \(exit 1\):\ntoo bad"):
            parity._ask(tmp_path, [])


def test_the_process_is_told_what_to_check_and_what_to_expect(tmp_path, monkeypatch):
    """The directory first, so that it can open the artefact while the model is asked."""
    code = (
        "import json, sys; told = [json.loads(line) for line in sys.stdin]; report = {'passed': True, 'told': told}; "
    )
    runs(monkeypatch, code + "open(sys.argv[1], 'w').write(json.dumps(report))")
    directory = fake_artefact.write(tmp_path / "a\nb ä", "tag")
    with compare.checker() as parity:
        told = parity.compare(None, (), directory, [])["told"]
        assert told == [str(directory), str(parity.work / "expected.npz")]


def test_no_process_outlives_an_export_that_fails(monkeypatch):
    runs(monkeypatch, "import time; time.sleep(600)")
    with pytest.raises(KeyError), compare.checker() as parity:
        assert parity.process.poll() is None
        raise KeyError
    assert parity.process.returncode is not None and not parity.work.exists()


@pytest.mark.slow
def test_the_check_ends_where_nothing_is_asked(tmp_path):
    """As after `kill -9` of the export: its standard input ends."""
    with compare.checker() as parity:
        parity.process.stdin.close()
        assert parity.process.wait(timeout=120) == 1 and not parity.report.exists()
        assert parity.process.stderr.read().count("Traceback") == 0
