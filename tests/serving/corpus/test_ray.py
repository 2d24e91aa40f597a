"""examples/ray_batch.py on one machine: a driver that is killed loses and doubles nothing.

Ray is in no extra. Where this Python has none, SEQZOO_RAY_PYTHON may name one that has it, with seqzoo's own packages.
"""

import importlib.util
import json
import os
import subprocess
import sys

import pytest

from tests.house_rules import ROOT

NEEDS = "no Ray: install 'ray[data]', or name by SEQZOO_RAY_PYTHON a Python that has it, this package, pyarrow and onnx"
PYTHON = os.environ.get("SEQZOO_RAY_PYTHON") or (sys.executable if importlib.util.find_spec("ray") else None)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(PYTHON is None, reason=NEEDS),
]


def call(*words, cwd=ROOT):
    return subprocess.run(
        [PYTHON, *map(str, words)],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=1500,
    )


def test_a_killed_driver_loses_and_doubles_nothing():
    done = call("benchmarks/ray_kills.py", "--rows", 12_000, "--kills", 1, "--dry")
    assert done.returncode == 0, done.stdout + done.stderr
    row = json.loads(done.stdout.splitlines()[-1])
    assert (row["lost"], row["doubled"], row["different"], row["kills"]) == (0, 0, 0, 1)


def test_another_model_is_not_mixed_in(tmp_path):
    (tmp_path / "out.run.json").write_text(json.dumps({"model": {"name": "other"}}))
    (dates,) = (ROOT / "hub" / "dates").glob("[0-9]*")
    done = call(ROOT / "examples/ray_batch.py", dates, "in.parquet", "out", cwd=tmp_path)
    assert done.returncode == 1 and 'model.name was "other" and is "dates"' in done.stderr
