"""What several workers of one run need, and one of them makes."""

import fcntl
import os
import shutil

import pytest


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
