"""A recipe of every system takes the same ten steps in bfloat16 as in float32, as nearly as bfloat16 can."""

import keras
import numpy as np
import pytest

from tests.core.systems import STEPS, SYSTEMS
from tests.recipes.small import recipe, write_corpus
from zoo import recipes

pytestmark = [pytest.mark.slow, pytest.mark.release]


class Losses(keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.found = []

    def on_train_batch_end(self, batch, logs=None):
        self.found.append(float(logs["loss"]))


def losses(system, precision, folder):
    kind, changes = SYSTEMS[system]
    folder.mkdir()
    training = STEPS | {"precision": precision} | ({"row_learning_rate": 2e-4} if system == "product key" else {})
    one, watch = recipe(kind, *changes, training=training), Losses()
    recipes.train(one, folder / "run", write_corpus(one, folder / "data"), False, [watch], len)
    return watch.found


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_system_trains_in_bfloat16(system, tmp_path):
    wide, narrow = (losses(system, each, tmp_path / each) for each in ("float32", "mixed_bfloat16"))
    np.testing.assert_allclose(narrow, wide, rtol=0.05)
    assert narrow != wide
