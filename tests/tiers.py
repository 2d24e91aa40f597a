"""Which tests `make test`, `make test-slow` and `make test-release` run, by the seconds that each was measured to take.

Each test file may take so many seconds in a tier. The cheapest tests come first, and what goes beyond is left to the
next tier, so nobody has to guess what is slow. Of every test function at least one case runs in one of the first two.
Marks by hand hold as well: `slow` keeps a test out of `make test`, and `release` out of `make test-slow`, too.

`make test-seconds` measures again and writes `tests/seconds.json`. A test that is not in there is a new one, and quick.
"""

import json
from collections import defaultdict
from pathlib import Path

import pytest

FILE = Path(__file__).with_name("seconds.json")
QUICK, SLOW = 4.0, 5.0  # seconds of a test file in `make test`, and in `make test-slow`
MORE = {
    "test_contracts.py": (30.0, 120.0),  # the battery that every layer goes through
    "test_architecture.py": (15.0, 120.0),  # the house rules: whoever breaks one should hear of it at once
}
LEAST = 0.1  # seconds from which something is recorded


def parts(nodeid):
    """The name of a test, and the group that pytest-xdist writes behind it or ""."""
    before, bracket, after = nodeid.rpartition("]")
    after, _, group = after.partition("@")
    return before + bracket + after, group


class Seconds:
    """What each test takes: its own time, and that of its group's fixtures, for which the first one of them waits."""

    def __init__(self, path=FILE):
        self.of = json.loads(path.read_text("utf-8"))["seconds"] if path.exists() else {}

    def own(self, item):
        return self.of.get(parts(item.nodeid)[0], 0.0)

    def fixtures(self, item):
        """The key and the seconds of what a test shares with its group."""
        group = item.get_closest_marker("xdist_group")
        key = f"{item.nodeid.partition('::')[0]}@{group.args[0]}" if group else ""
        return key, self.of.get(key, 0.0)

    def within(self, items, budget, made=()):
        """Those of the tests that fit into a budget, the cheapest first; and what they share."""
        found, made, spent = set(), set(made), 0.0
        for item in sorted(items, key=self.own):
            key, shared = self.fixtures(item)
            cost = self.own(item) + (0.0 if key in made else shared)
            if spent + cost <= budget:
                spent += cost
                found.add(item)
                made.add(key)
        return found


def function(item):
    return parts(item.nodeid)[0].partition("[")[0]


def mark(items, seconds):
    """Mark the tests that are slow, and of these the ones that run at a release alone."""
    files = defaultdict(list)
    for item in items:
        if not item.get_closest_marker("release"):
            files[item.path].append(item)
    for path, tests in files.items():
        most, most_slow = MORE.get(path.name, (QUICK, SLOW))
        quick = seconds.within([item for item in tests if not item.get_closest_marker("slow")], most)
        rest = sorted((item for item in tests if item not in quick), key=seconds.own)
        asked = {function(item) for item in quick}
        first = {}  # the cheapest case of each function of which none is quick
        for item in rest:
            if function(item) not in asked:
                first.setdefault(function(item), item)
        needed, shared = set(first.values()), dict(map(seconds.fixtures, first.values()))
        left = most_slow - sum(map(seconds.own, first.values())) - sum(shared.values())
        more = seconds.within([item for item in rest if item not in needed], left, shared)
        for item in rest:
            item.add_marker(pytest.mark.slow)
            if item not in needed | more:
                item.add_marker(pytest.mark.release)


class Stopwatch:
    """A plugin that writes what tests took in a run to `tests/seconds.json`, beside what it knows of the others."""

    def __init__(self, path=FILE):
        self.path, self.measured = path, defaultdict(float)

    def pytest_runtest_logreport(self, report):
        name, group = parts(report.nodeid)
        shared = group and report.when == "setup"
        self.measured[f"{name.partition('::')[0]}@{group}" if shared else name] += report.duration

    def pytest_sessionfinish(self):
        known = Seconds(self.path).of | {name: round(spent, 1) for name, spent in self.measured.items()}
        kept = {name: known[name] for name in sorted(known) if known[name] >= LEAST}
        self.path.write_text(json.dumps({"seconds": kept}, ensure_ascii=False, indent=0) + "\n", "utf-8")
