"""Steps that compile nothing, for tests of what the loop does around them."""

import keras
import numpy as np

from zoo.training.steps.shared import shape_of


class FakeSteps:
    """Counts its updates in the model's only weight; `nll` says what a validation finds after so many updates."""

    def __init__(self, nll=lambda updates: 1.0 / updates):
        self.model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, use_bias=False)])
        self.model.set_weights([np.zeros((1, 1))])
        self.optimizer = keras.optimizers.SGD(0.5)
        self.optimizer.build(self.model.trainable_variables)
        self._nll = nll

    @property
    def updates(self):
        return int(self.model.get_weights()[0][0, 0])

    def train(self, batch):
        self.model.trainable_variables[0].assign_add(np.ones((1, 1)))
        return np.float32(100.0 - self.updates)

    def evaluate(self, batch):
        return np.array([self._nll(self.updates), 0.5, 1.0])

    def learning_rate(self):
        return float(self.optimizer.learning_rate)

    def program_key(self, batch):
        return shape_of(batch)

    def sync(self):
        pass

    def reload(self):
        pass


class Data:
    """Batches of one shape; when a certain step is asked for, `act` is called."""

    def __init__(self, at=None, act=None):
        self._at, self._act = at, act

    def batch(self, step):
        if step == self._at:
            self._act()
        return {"token_ids": np.zeros((2, 3), "int32"), "weights": np.ones((2, 3), "float32")}

    def __iter__(self):
        return (self.batch(step) for step in range(2))
