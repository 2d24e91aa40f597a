"""The check of parity finds what is wrong, and says where."""

import re

import numpy as np
import pytest

from serving.export.parity.check import Report
from serving.export.parity.grid import BATCHES, PADDINGS, TIMES, grid
from serving.export.parity.reference import stacked


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
        (np.int32([1, 2]), np.int32([1, 3]), r"expected \(2,\) \[1, 2\], received \(2,\) \[1, 3\]"),
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
    assert stacked([np.array([1, 2]), np.array([3])]).tolist() == [[1, 2], [3, 0]]
    assert stacked([np.array(["a"]), np.array([], dtype="U1"), np.array(["bc", "d"])]).tolist() == [
        ["a", ""],
        ["", ""],
        ["bc", "d"],
    ]
    assert stacked([np.array(1.5), np.array(2.5)]).tolist() == [1.5, 2.5]
