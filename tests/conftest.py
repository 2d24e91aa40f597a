"""What every test shares: a quiet TensorFlow, a thread per worker, the same seeds, groups of tests, and a summary."""

import os
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests import tiers

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("MPLBACKEND", "agg")
# Processes of tests on JAX compile the same small programs; what one has compiled the others read.
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parents[1] / ".pytest_cache" / "jax"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")
if "PYTEST_XDIST_WORKER" in os.environ:  # workers share the cores
    for name in ("OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS"):
        os.environ.setdefault(name, "1")

# No test is red because a machine is busy.
settings.register_profile("house", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("house")

MOST_CHARACTERS = 200  # of a value in the name of a test
LONG = 60.0  # seconds of tests from which a run says where they went

# Long and alone: a worker begins with them, or it would end with them while the other one waits.
FIRST = ("test_loads_elsewhere", "test_a_killed_run", "test_jax_needs", "test_beam_search_is_that_of_the_model")


# Dear and shared by all modules: one worker makes them while the other one does something else, and need not wait.
SHARED = "artefacts"
SOMETIMES = ("continue", "tag", "compare")  # kinds whose artefact is made in the slow run alone


@pytest.fixture(autouse=True)
def settings_of_the_process():
    """A test that leaves another backend or hub behind fails itself, instead of those that run after it."""
    before = _settings()
    yield
    after = _settings()
    if after != before:
        for name in after.keys() - before.keys():
            del os.environ[name]
        os.environ.update(before)
        pytest.fail(f"left the environment changed, from {before} to {after}; use monkeypatch.setenv")


def _settings():
    return {name: value for name, value in os.environ.items() if name.startswith(("KERAS_", "SEQZOO_"))}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """For `--dist loadgroup`: tests that share a fixture of their module go to one worker, which makes it once."""
    items.sort(key=lambda item: not (item.name.startswith(FIRST) or shares(item)))
    for item in items:
        if shares(item) and hasattr(item, "callspec") and item.callspec.params.get("kind") in SOMETIMES:
            item.add_marker(pytest.mark.slow)
        if item.get_closest_marker("xdist_group") is None and (group := shared_by(item)):
            item.add_marker(pytest.mark.xdist_group(group))
    tiers.mark(items)


def shares(item):
    """Whether a test asks for what is dear and made once for all modules."""
    found = item._fixtureinfo.name2fixturedefs.get(SHARED)
    return bool(found) and found[-1].scope == "session"


def shared_by(item):
    """The name of the group that makes one module's fixture, of one parameter if it has some; or None."""
    if shares(item):
        return SHARED
    definitions = item._fixtureinfo.name2fixturedefs
    shared = [name for name, found in definitions.items() if found and found[-1].scope == "module"]
    if not shared:
        return None
    indices = getattr(item, "callspec", None) and item.callspec.indices or {}
    return "-".join([item.module.__name__, *(str(indices[name]) for name in sorted(shared) if name in indices)])


def pytest_terminal_summary(terminalreporter):
    """Where the time of a long run went, by file: seconds of all workers together."""
    seconds = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                seconds[report.nodeid.partition("::")[0]] += report.duration
    if seconds.total() > LONG:
        terminalreporter.section(f"{seconds.total():.0f} s of tests, by file")
        for path, spent in seconds.most_common(15):
            terminalreporter.write_line(f"{spent:7.1f} s  {path}")


@pytest.fixture(autouse=True)
def seeded():
    """Seed Keras and NumPy, so that the order of tests changes nothing."""
    if "keras" in sys.modules:
        sys.modules["keras"].utils.set_random_seed(1)


@pytest.fixture(scope="module")
def browser():
    """A headless Chromium, as `benchmarks.harness.browser` drives it."""
    from benchmarks.harness.browser import Browser

    held = Browser()
    yield held
    held.close()


@pytest.fixture
def opened(browser):
    """Opens pages of the browser, which are closed at the end of the test."""
    from benchmarks.harness.browser import Page

    pages = []

    def opened(**more):
        pages.append(Page(browser, **more))
        return pages[-1]

    yield opened
    for page in pages:
        page.close()


def pytest_make_parametrize_id(config, val, argname):
    """Long values, and bytes that are no text, are named by their size: gzip's hold a time, and workers must agree."""
    if isinstance(val, bytes) and not val.isascii() or isinstance(val, str | bytes) and len(val) > MOST_CHARACTERS:
        return f"{argname} of {len(val)} {'bytes' if isinstance(val, bytes) else 'characters'}"
    return None
