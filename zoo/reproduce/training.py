"""A small training that is the same, bit for bit, each time: one compiled step for all seeds of an architecture."""

import hashlib
from functools import partial

import keras
import numpy as np

from zoo.core.later import later
from zoo.training import SmoothedCrossEntropy, make_steps
from zoo.training.steps import model_inputs

jax = later("jax")
tf = later("tensorflow")


def to_arrays(variables):
    return [np.array(keras.ops.convert_to_numpy(variable)) for variable in variables]


def keep(facts, name, **measured):
    """Append what was measured of a seed to the lists `facts[KEY][name]`."""
    for key, value in measured.items():
        facts.setdefault(key, {}).setdefault(name, []).append(value)


def adam(rate=3e-3, updates=None, clip=1.0):
    """Adam with gradients of a norm up to `clip`; with `updates` the rate warms up for a tenth of them, then falls."""
    if updates:
        warmup = updates // 10 + 1
        rate = keras.optimizers.schedules.CosineDecay(0.0, updates, warmup_target=rate, warmup_steps=warmup)
    return keras.optimizers.Adam(rate, clipnorm=clip)


class Trainer:
    """Trains one architecture with several seeds by one compiled step.

    Args:
        make: makes a model of freshly drawn weights; one of the zoo need not be built.
        optimizer: of Keras; None is Adam at 0.003 without clipping.
        loss: as of `zoo.training.make_steps`; None is the cross entropy.
    """

    def __init__(self, make, optimizer=None, loss=None):
        self.make, self.model, self.step = make, None, 0
        self.model = self.make_model(0)
        self.optimizer = optimizer or keras.optimizers.Adam(3e-3)
        self.steps = make_steps(self.model, self.optimizer, loss or SmoothedCrossEntropy())
        self.empty = to_arrays(self.optimizer.variables)

    def make_model(self, seed):
        """A model of the weights that belong to a seed."""
        keras.utils.set_random_seed(seed)
        model = self.make()
        if not model.built:
            model.build()
        return model

    def train_each(self, seeds, batch, updates):
        """Train from the weights of each seed in turn, and give its losses; a step reads `batch(seed, step)`."""
        for seed in seeds:
            yield self.train(seed, partial(batch, seed), updates)

    def train(self, seed, batch, updates):
        """Train from the weights of a seed; `batch(step)` gives what a step reads. Returns the losses, `(updates,)`."""
        for variable, value in zip(self.model.variables, to_arrays(self.make_model(seed).variables), strict=True):
            variable.assign(value)
        for variable, value in zip(self.optimizer.variables, self.empty, strict=True):
            variable.assign(value)
        self.steps.reload()
        losses = [self.steps.train(batch(step)) for step in range(updates)]
        self.steps.sync()
        return np.array([float(loss) for loss in losses])

    def hash(self):
        digest = hashlib.sha256()
        for value in to_arrays(self.model.trainable_variables):
            digest.update(f"{value.shape} {value.dtype}".encode())
            digest.update(np.ascontiguousarray(value).tobytes())
        return digest.hexdigest()

    def outputs(self, batch):
        """What the model makes of a batch, as an array; its labels and weights are not looked at."""
        return np.asarray(self.model.predict_on_batch(model_inputs(batch)))

    def right(self, batch):
        """Which labels are the most probable ones: bool, as the labels."""
        return self.outputs(batch).argmax(-1) == batch["labels"]


def gradients(model, batch, loss):
    """The gradient of `loss(model(batch))` by path of the weight, as arrays; nothing is compiled as a whole."""
    weights = model.trainable_variables
    if keras.backend.backend() == "jax":
        fixed = [variable.value for variable in model.non_trainable_variables]
        loss_of = lambda values: loss(model.stateless_call(values, fixed, batch)[0])  # noqa: E731
        values = jax.grad(loss_of)([weight.value for weight in weights])
    else:
        with tf.GradientTape() as tape:
            value = loss(model(batch))
        values = tape.gradient(value, [weight.value for weight in weights])
    return {weight.path: np.array(each) for weight, each in zip(weights, values, strict=True)}
