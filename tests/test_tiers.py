"""Which tests run when, asked of a small suite."""

import pytest

pytest_plugins = ("pytester",)

SUITE = """
import pytest

NAMES = ["gru", "lstm", "rnn", "gru-two"]

def test_new(): ...

@pytest.mark.slow
def test_slow(): ...

@pytest.mark.release
def test_release(): ...

@pytest.mark.slow(but=1)
@pytest.mark.release(but=3)
@pytest.mark.parametrize("name", NAMES)
def test_counted(name): ...

@pytest.mark.release(but="gru")
@pytest.mark.parametrize("name", NAMES)
def test_named(name): ...

@pytest.mark.slow(but=("lstm", "rnn"))
@pytest.mark.parametrize("name", [pytest.param("gru", marks=pytest.mark.release), "lstm", "rnn"])
def test_both(name): ...
"""
CONFTEST = """
import pytest
from tests import tiers

@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    tiers.mark(items)
"""
QUICK = "new counted[gru] named[gru] named[gru-two] both[lstm] both[rnn]"
SLOW = "slow counted[lstm] counted[rnn]"
RELEASE = "release counted[gru-two] named[lstm] named[rnn] both[gru]"


@pytest.mark.parametrize(
    ("which", "expected"), [("not slow", QUICK), ("slow and not release", SLOW), ("release", RELEASE)]
)
def test_every_case_runs_in_one_tier(pytester, which, expected):
    pytester.makepyfile(test_suite=SUITE)
    pytester.makeconftest(CONFTEST)
    pytester.makeini("[pytest]\nmarkers =\n    slow: x\n    release: x\n")
    found = pytester.inline_run("--collect-only", "-q", "-m", which, "-p", "no:cacheprovider", "-p", "no:randomly")
    names = [
        each.name.removeprefix("test_")
        for call in found.getcalls("pytest_collection_finish")
        for each in call.session.items
    ]
    assert sorted(names) == sorted(expected.split())
