"""A recipe of every system takes the same ten steps in 16 bits as in float32, as nearly as 16 bits can."""

import keras
import numpy as np
import pytest

from tests.core.systems import STEPS, SYSTEMS
from tests.recipes.small import recipe, write_corpus
from tests.shared import once_more_on_jax
from zoo import runs

PRECISIONS = ("float32", "mixed_bfloat16", "mixed_float16")
pytestmark = [pytest.mark.slow, pytest.mark.release]


class Scaled(keras.optimizers.LossScaleOptimizer):
    """It begins where no gradient of these systems overflows: the usual 2^15 skips steps until it has come down."""

    def __init__(self, inner_optimizer):
        super().__init__(inner_optimizer, initial_scale=64.0)


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
    runs.train(one, folder / "run", write_corpus(one, folder / "data"), False, [watch], len)
    return watch.found


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_system_trains_in_every_precision(system, tmp_path, monkeypatch):
    monkeypatch.setattr(keras.optimizers, "LossScaleOptimizer", Scaled)
    wide, *others = (losses(system, each, tmp_path / each) for each in PRECISIONS)
    for narrow in others:
        np.testing.assert_allclose(narrow, wide, rtol=0.05)  # what rounding comes to in ten steps
        assert narrow != wide


def test_every_system_trains_in_every_precision_on_jax():
    once_more_on_jax(__file__, with_releases=True)
