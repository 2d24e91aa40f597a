"""A model, batches and a run small enough to train inside a test."""

import os
import random
import signal

import keras
import numpy as np

from zoo.training import SmoothedCrossEntropy, TrainingPlan, fit, make_steps, schedule

VOCABULARY = 11
SHAPES = ((3, 5), (5, 7))
PLAN = TrainingPlan(steps=12, validate_every=5, checkpoint_every=3, keep=2, log_every=2, prefetch=0)


class Batches:
    """Random copies of the last source token, in two shapes; `batch` is a pure function."""

    def __init__(self, seed, count=4):
        self._seed, self._count = seed, count

    def batch(self, step):
        draw = np.random.default_rng((self._seed, step))
        source_time, time = SHAPES[step % len(SHAPES)]
        lengths = draw.integers(1, source_time + 1, 3)
        source_ids = draw.integers(4, VOCABULARY, (3, source_time))
        labels = np.repeat(source_ids[:, -1:], time, axis=1)
        target_ids = np.concatenate([np.full((3, 1), 2), labels[:, :-1]], axis=1)
        return {
            "source_ids": source_ids.astype("int32"),
            "source_lengths": lengths.astype("int32"),
            "target_ids": target_ids.astype("int32"),
            "labels": labels.astype("int32"),
            "weights": (np.arange(time) <= lengths[:, None]).astype("float32"),
        }

    def __iter__(self):
        return (self.batch(step) for step in range(self._count))


class Murderous(Batches):
    """Kills its own process, as `kill -9` would, when a certain step is asked for."""

    signal = signal.SIGKILL

    def __init__(self, seed, at):
        super().__init__(seed)
        self._at = at

    def batch(self, step):
        if step == self._at:
            os.kill(os.getpid(), self.signal)
        return super().batch(step)


class Interrupted(Murderous):
    """Presses Ctrl-C instead."""

    signal = signal.SIGINT


def make_model():
    source = keras.Input((None,), dtype="int32", name="source_ids")
    lengths = keras.Input((), dtype="int32", name="source_lengths")
    target = keras.Input((None,), dtype="int32", name="target_ids")
    embed = keras.layers.Embedding(VOCABULARY, 7)
    context = keras.layers.Dropout(0.5, seed=3)(embed(source)[:, -1])
    scale = keras.ops.cast(lengths, "float32")[:, None] / 10.0
    states = keras.layers.Dense(7, activation="tanh")(embed(target) + (context * scale)[:, None])
    logits = keras.layers.Dense(VOCABULARY)(keras.layers.Dropout(0.3, seed=4)(states))
    return keras.Model([source, lengths, target], logits)


class ByName(keras.Model):
    """Takes the dict of ids that the zoo's models take."""

    def __init__(self):
        super().__init__()
        random.seed(1)  # Keras draws its seeds from here
        self.inner = make_model()
        self.built = True

    def call(self, inputs, training=None):
        names = ("source_ids", "source_lengths", "target_ids")
        return self.inner([inputs[name] for name in names], training=training)


def make_optimizer():
    return keras.optimizers.Adam(schedule("inverse_sqrt", 1e-2, 4, 12), global_clipnorm=1.0)


def train(directory, batches=None, resume=False, plan=PLAN):
    """(model, progress) of one run."""
    model = ByName()
    steps = make_steps(model, make_optimizer(), SmoothedCrossEntropy(0.1))
    return model, fit(steps, batches or Batches(0), Batches(9), plan, directory, resume)


def arrays(variables):
    return [np.array(variable.value, copy=None) for variable in variables]


def dump(path, model):
    np.savez(path, *arrays(model.variables))
