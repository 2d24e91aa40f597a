"""Training, saving and opening on JAX in a process where TensorFlow cannot be imported."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

CODE = """
import sys

class NoTensorFlow:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("tensorflow", "tensorflow_text"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, NoTensorFlow())
from tests.recipes.small import recipe
from zoo import recipes

recipes.train(recipe(units=3), sys.argv[1])
print(len(recipes.translate(recipes.open_run(sys.argv[1]), ["a b c", "d"], batch_size=2)))
assert "tensorflow" not in sys.modules
"""


def test_jax_needs_no_tensorflow(tmp_path):
    if not importlib.util.find_spec("jax"):
        pytest.skip("jax is not installed")
    environment = os.environ | {"KERAS_BACKEND": "jax", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", CODE, str(tmp_path / "run")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "2"
