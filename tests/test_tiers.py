"""Which tests run when: budgets of seconds by file, and one case of each function before a release."""

import json
from pathlib import PurePath
from types import SimpleNamespace

import pytest

from tests.tiers import Seconds, Stopwatch, mark, parts


class Item:
    """What `mark` asks of a test."""

    def __init__(self, nodeid, *marks, group=None):
        self.nodeid, self.path = nodeid, PurePath(nodeid.partition("::")[0])
        self.marks = {each: SimpleNamespace(args=()) for each in marks}
        if group:
            self.marks["xdist_group"] = SimpleNamespace(args=(group,))

    def get_closest_marker(self, name):
        return self.marks.get(name)

    def add_marker(self, decorator):
        self.marks[decorator.name] = decorator.mark

    @property
    def tier(self):
        return "release" if "release" in self.marks else "slow" if "slow" in self.marks else "quick"


@pytest.fixture(autouse=True)
def budgets(monkeypatch):
    """What the examples reckon with."""
    monkeypatch.setattr("tests.tiers.QUICK", 5.0)
    monkeypatch.setattr("tests.tiers.SLOW", 30.0)


def tiers(tmp_path, items, seconds):
    path = tmp_path / "seconds.json"
    path.write_text(json.dumps({"seconds": seconds}))
    mark(items, Seconds(path))
    return [item.tier for item in items]


def test_the_cheapest_are_quick_and_of_each_function_one_runs_before_a_release(tmp_path):
    items = [Item(f"a.py::test_many[{each}]") for each in range(12)] + [Item("a.py::test_long"), Item("a.py::test_new")]
    seconds = {f"a.py::test_many[{each}]": 2.0 + each / 10 for each in range(12)} | {"a.py::test_long": 100.0}
    found = tiers(tmp_path, items, seconds)
    assert found[-1] == "quick"  # not measured yet
    assert found[-2] == "slow"  # beyond every budget, but the only one of its function
    assert found[:2] == ["quick"] * 2 and set(found[2:12]) == {"release"}  # the long one spends the slow budget


def test_a_budget_is_of_one_file(tmp_path):
    items = [Item(f"{file}.py::test_it[{each}]") for file in "ab" for each in range(20)]
    found = tiers(tmp_path, items, {item.nodeid: 4.0 for item in items})
    assert found[:20] == found[20:] == ["quick"] + ["slow"] * 7 + ["release"] * 12


def test_every_worker_finds_the_same(tmp_path):
    """Workers must collect the same tests, so sums of seconds may not depend on where tests lie in memory."""
    seconds = {f"a.py::test_{each}[0]": 0.1 + each / 7 for each in range(12)}  # needed
    seconds["a.py::test_0[1]"] = 30.0 - sum(seconds.values())  # fits exactly, if they are added in this order
    found = set()
    for number in range(200):
        moved = [Item("a.py::test") for _ in range(number)]  # so that the next ones lie elsewhere
        found.add(tuple(tiers(tmp_path, [Item(name, "slow") for name in seconds], seconds)))
        del moved
    assert found == {("slow",) * 13}


def test_marks_by_hand_hold(tmp_path):
    items = [Item("a.py::test_it", "slow"), Item("a.py::test_that", "slow", "release"), Item("a.py::test_other")]
    assert tiers(tmp_path, items, {}) == ["slow", "release", "quick"]


def test_what_a_group_shares_is_paid_once(tmp_path):
    items = [Item(f"a.py::test_it[{each}]@dear", group="dear") for each in range(3)]
    items += [Item(f"a.py::test_it[{each}]@cheap", group="cheap") for each in range(3, 6)]
    assert tiers(tmp_path, items, {"a.py@dear": 20.0, "a.py@cheap": 4.5}) == ["slow"] * 3 + ["quick"] * 3


def test_a_stopwatch_adds_what_it_measures_to_what_is_known(tmp_path):
    path = tmp_path / "seconds.json"
    path.write_text(json.dumps({"seconds": {"a.py::test_known": 3.0, "a.py::test_faster_now": 7.0}}))
    watch = Stopwatch(path)
    for nodeid, when, duration in [
        ("a.py::test_faster_now", "call", 1.0),
        ("a.py::test_it[x@y]@group", "setup", 2.0),
        ("a.py::test_it[x@y]@group", "call", 0.5),
        ("a.py::test_it[x@y]@group", "teardown", 0.26),
        ("a.py::test_alone", "setup", 0.3),
        ("a.py::test_nothing", "call", 0.01),
    ]:
        watch.pytest_runtest_logreport(SimpleNamespace(nodeid=nodeid, when=when, duration=duration))
    watch.pytest_sessionfinish()
    assert json.loads(path.read_text())["seconds"] == {
        "a.py::test_alone": 0.3,
        "a.py::test_faster_now": 1.0,
        "a.py::test_it[x@y]": 0.8,
        "a.py::test_known": 3.0,
        "a.py@group": 2.0,
    }


@pytest.mark.parametrize(
    ("nodeid", "expected"),
    [
        ("a.py::test_it", ("a.py::test_it", "")),
        ("a.py::test_it@group", ("a.py::test_it", "group")),
        ("a.py::test_it[a@b]", ("a.py::test_it[a@b]", "")),
        ("a.py::test_it[a@b]@group", ("a.py::test_it[a@b]", "group")),
    ],
)
def test_the_group_is_no_part_of_a_name(nodeid, expected):
    assert parts(nodeid) == expected
