"""Training, saving, opening and scoring on JAX in a process where TensorFlow cannot be imported."""

import pytest

from tests.shared import python

CODE = """
import pathlib, sys

class NoTensorFlow:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("tensorflow", "tensorflow_text"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, NoTensorFlow())
from tests.recipes.small import recipe, write_corpus
from zoo import recipes, runs

one, here = recipe(sys.argv[1], training={"validate_every": 4}), pathlib.Path(sys.argv[2])
data = write_corpus(one, here / "data")
runs.train(one, here / "run", data)
print(len(runs.evaluate(runs.open_run(here / "run"), "test", data, limit=5)[1]))
assert "tensorflow" not in sys.modules
"""


@pytest.mark.release
@pytest.mark.parametrize("model", ["seq2seq", "tagger"])
def test_jax_needs_no_tensorflow(model, tmp_path):
    assert python("-c", CODE, model, tmp_path, KERAS_BACKEND="jax").stdout.strip() == "5"
