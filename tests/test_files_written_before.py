"""Models that were saved by an earlier version load, and answer as they did when they were saved.

Keras finds the weights in a `.keras` file by the names of the attributes that hold the layers, and makes the layers
from the configs in it. So a changed attribute or argument may cost users their files, and no test that saves and loads
with one version can notice. The files in `tests/files_written_before` were written at commit 8d86b5c, in which
`dropout` was a layer in some classes, `Seq2Seq` kept its arguments in a dictionary, and the configs held numbers in the
place of a `window` or a `depth` of None. Their weights are normal numbers of standard deviation 0.5; `answers.npz` has
what each model gave for `INPUTS`.
"""

from pathlib import Path

import keras
import numpy as np
import pytest

import zoo

FOLDER = Path(__file__).with_name("files_written_before")
PAIR = {
    "source_ids": np.array([[3, 4, 2], [4, 2, 0]], "int32"),
    "source_lengths": np.array([3, 2], "int32"),
    "target_ids": np.array([[1, 3], [1, 4]], "int32"),
}
TEXT = {"token_ids": PAIR["source_ids"], "lengths": PAIR["source_lengths"]}
INPUTS = {
    "seq2seq": PAIR,
    "own-encoder": PAIR,
    "transformer": PAIR,
    "depth-adaptive": PAIR,
    "spans": TEXT,
    "spelled": TEXT,
}


@pytest.mark.parametrize("name", INPUTS)
def test_loads_and_answers_as_before(name):
    model = keras.models.load_model(FOLDER / f"{name}.keras", safe_mode=True)
    assert type(model).__module__.startswith(zoo.__name__)
    found, expected = np.asarray(model(INPUTS[name])), np.load(FOLDER / "answers.npz")[name]
    if name == "spelled":  # a label for each token: what stands behind the end of a text may change
        real = np.arange(3) < TEXT["lengths"][:, None]
        found, expected = found[real], expected[real]
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_every_file_is_read():
    assert {path.stem for path in FOLDER.glob("*.keras")} == set(INPUTS)
