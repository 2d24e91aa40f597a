"""The runner of the benchmarks: engines take turns and must agree, and results are kept by processor."""

import json
import statistics
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"

CASE = """
from harness.engine import Engine

def cells(quick):
    slow = Engine("ours", "cases.sleepy", "make", {"work": 60_000, "value": [1, 2.0]})
    fast = Engine("peer", "cases.sleepy", "make", {"work": 20_000, "value": [1, 2.00001]})
    cell = {"name": "a cell", "engines": [slow, fast], "pairs": [("ours", "peer")], "equal": [["ours", "peer"]]}
    return [cell | {"tolerance": TOLERANCE, "before": 1, "about": {"size": 3}}]
"""
ENGINE = """
def make(threads, work, value):
    print("this is no answer")
    def step():
        print("neither is this")
        for _ in range(20):
            sum(each * each for each in range(work))
        return value
    return step
"""


@pytest.fixture
def runner(tmp_path, monkeypatch):
    """`benchmarks/run.py` as a module, whose cases are those of a folder and whose results go into another."""
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
    for name in [name for name in sys.modules if name.partition(".")[0] in ("run", "harness", "cases")]:
        monkeypatch.delitem(sys.modules, name)
    import cases
    import run
    from harness import engine, report

    (tmp_path / "cases").mkdir()
    (tmp_path / "cases" / "sleepy.py").write_text(ENGINE)
    (tmp_path / "cases" / "start.py").write_text(CASE.replace("TOLERANCE", "1e-3"))
    child = tmp_path / "harness" / "child.py"
    child.parent.mkdir()
    child.write_text((BENCHMARKS / "harness" / "child.py").read_text())
    monkeypatch.setattr(cases, "__path__", [str(tmp_path / "cases")])
    monkeypatch.setattr(engine, "CHILD", child)
    monkeypatch.setattr(report, "RESULTS", tmp_path / "results")
    return run


def test_a_run_measures_in_turns_and_keeps_the_result_by_processor(runner, tmp_path, capsys):
    assert runner.main(["start", "--rounds", "3", "--json"]) == 0
    said = capsys.readouterr()
    shown = json.loads(said.out)
    (path,) = (tmp_path / "results").glob("*/start.json")
    assert json.loads(path.read_text()) == shown and "no earlier results" in said.err
    (cell,) = shown["cells"]
    assert (cell["cell"], cell["engine"], cell["peer"], cell["size"]) == ("a cell", "ours", "peer", 3)
    assert shown["geometric_mean"] == cell["ratio"] > 1.5 and shown["below_one"] == 0  # it does three times the work
    assert cell["spread"][0] <= cell["ratio"] <= cell["spread"][1] and cell["ours_mb"] > 5
    assert shown["processor"]["name"] and shown["threads"] == 1 and shown["versions"]["python"]
    assert runner.main(["start", "--rounds", "1", "--quick"]) == 0
    assert "geometric mean" in capsys.readouterr().out
    assert sorted(each.name for each in path.parent.iterdir()) == ["start.json", "start.quick.json"]
    assert runner.main(["start", "--rounds", "1"]) == 0
    assert f"geometric mean: {shown['geometric_mean']} ->" in capsys.readouterr().err


def test_what_was_measured_stays_when_the_rest_fails(runner, tmp_path):
    case = CASE.replace("TOLERANCE", "1e-3").replace(
        '"size": 3}}]', '"size": 3}}, cell | {"name": "b", "tolerance": 0}]'
    )
    (tmp_path / "cases" / "start.py").write_text(case)
    with pytest.raises(ValueError, match="b: expected equal results"):
        runner.main(["start", "--rounds", "1"])
    (path,) = (tmp_path / "results").glob("*/start.json")
    found = json.loads(path.read_text())
    assert [cell["cell"] for cell in found["cells"]] == ["a cell"] and found["cells_left"] == 1
    # Of another size than before, for Python would else take what it has compiled of a file of the same second.
    (tmp_path / "cases" / "start.py").write_text(case.replace('"tolerance": 0}', '"tolerance": 1.0}'))
    sys.modules.pop("cases.start")
    with pytest.raises(SystemExit):  # measured otherwise
        runner.main(["start", "--rounds", "2", "--resume"])
    assert json.loads(path.read_text()) == found
    assert runner.main(["start", "--rounds", "1", "--resume"]) == 0
    resumed = json.loads(path.read_text())
    assert resumed["cells"][0] == found["cells"][0] and "cells_left" not in resumed
    assert [cell["cell"] for cell in resumed["cells"]] == ["a cell", "b"]
    with pytest.raises(SystemExit):  # nothing is left
        runner.main(["start", "--resume"])


def test_engines_that_disagree_are_not_timed(runner, tmp_path):
    (tmp_path / "cases" / "start.py").write_text(CASE.replace("TOLERANCE", "1e-7"))
    with pytest.raises(ValueError, match="a cell: expected equal results, received .*2.00001"):
        runner.main(["start"])
    assert not (tmp_path / "results").exists()


def test_a_share_of_the_entries_may_differ(runner, tmp_path, capsys):
    case = CASE.replace("TOLERANCE", "1e-7").replace('"before": 1', '"before": 2, "unequal": 0.5')
    (tmp_path / "cases" / "start.py").write_text(case)
    assert runner.main(["start", "--rounds", "1", "--json"]) == 0
    (cell,) = json.loads(capsys.readouterr().out)["cells"]
    assert cell["unequal"] == 0.5
    values = {"ours": [[1, 2.0]] * 2, "peer": [[1, 2.00001]] * 2}
    with pytest.raises(ValueError, match="2.00001.*; 50.0% differ"):
        runner.agree({"name": "a cell", "equal": [["ours", "peer"]], "unequal": 0.4}, values)
    assert runner.unequal([[1, "a"], 2.0], [[1, "a"], 2.5]) == 1.0 and runner.unequal([[]], [[]]) == 0.0
    assert runner.unequal([["a", "b", "c"]], [["a", "b"]]) == 1.0


def test_an_engine_that_fails_says_why(runner, tmp_path):
    (tmp_path / "cases" / "sleepy.py").write_text("def make(threads, **settings):\n    raise OSError('no such peer')\n")
    with pytest.raises(RuntimeError, match="engine ours ended:(.|\n)*no such peer"):
        runner.main(["start"])


@pytest.mark.parametrize("words", [["nothing"], ["start", "--rounds", "0"], ["start", "--only", "no such cell"]])
def test_wrong_use(runner, words):
    with pytest.raises(SystemExit) as stop:
        runner.main(words)
    assert stop.value.code == 2


def test_ratios_are_of_the_same_round(runner):
    from harness import report

    ours, peer = [1.0, 4.0, 9.0], [2.0, 4.0, 3.0]
    assert report.ratio(ours, peer) == (1.0, [0.75, 2.0])
    assert report.ratio([3.0], [2.0]) == (1.5, [1.5, 1.5])
    rows = [{"ratio": value, "kind": kind} for value, kind in ((0.5, "a"), (2.0, "a"), (4.0, "b"))]
    assert report.geometric_mean(rows) == round(statistics.geometric_mean([0.5, 2.0, 4.0]), 3)
    assert report.geometric_mean(rows, kind="a") == 1.0 and report.geometric_mean(rows, kind="c") is None


def test_the_folder_of_a_processor(runner):
    from harness import processor

    xeon = {"name": "Intel(R) Xeon(R) Platinum 8480C CPU @ 2.00GHz", "family": "6", "model": "143"}
    assert processor.slug(xeon) == "intel-xeon-platinum-8480c-6-143"
    assert processor.slug({"name": "AMD EPYC", "family": "", "model": ""}) == "amd-epyc"
    assert "/" not in processor.slug(processor.processor())


def test_what_moved_out_of_its_spread_is_told(runner):
    from harness import report

    def cells(*ratios):
        names = enumerate(ratios)
        return [
            {"cell": str(i), "engine": "o", "peer": "p", "ratio": r, "spread": [r - 0.1, r + 0.1]} for i, r in names
        ]

    before = {"cells": cells(1.0, 1.0), "geometric_mean": 1.0, "commit": "abc"}
    after = {"cells": cells(1.05, 1.5), "geometric_mean": 1.255}
    assert report.changes(before, after) == ["geometric mean: 1.0 -> 1.255 (at abc)", "1, o, p: 1.0 -> 1.5"]


def test_one_table_for_every_kind_of_value(runner):
    from harness import report

    rows = [{"a": True, "b": [0.5, 0.00001], "c": 3e-4}, {"a": False, "d": None, "c": 0.25}]
    assert report.table(rows).splitlines() == [
        "| a | b | c | d |",
        "| --- | --- | --- | --- |",
        "| yes | 0.5–1.0e-05 | 3.0e-04 |  |",
        "| no |  | 0.25 | None |",
    ]
