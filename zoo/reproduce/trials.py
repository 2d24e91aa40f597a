"""A trial: a small task whose answers are known, and a training of it that is the same, bit for bit, each time.

The tasks are texts to copy or to write backwards, and pointers to follow. One compiled step trains all seeds of an
architecture.
"""

import hashlib
from functools import partial

import keras
import numpy as np

from zoo.core.later import later
from zoo.text.base import BOS, EOS
from zoo.training import SmoothedCrossEntropy, make_steps
from zoo.training.steps import model_inputs

FIRST = 4  # ids below it are those of padding and of the ends of a text
jax = later("jax")
tf = later("tensorflow")


def make_text_batch(sources, lengths, targets):
    """A batch of a model that writes `targets (batch, time)`, of which each row has its length, then the end."""
    count, longest = sources.shape
    labels = np.pad(targets, ((0, 0), (0, 1)))
    labels[np.arange(count), lengths] = EOS
    return {
        "source_ids": sources.astype("int32"),
        "source_lengths": lengths.astype("int32"),
        "target_ids": np.pad(targets, ((0, 0), (1, 0)), constant_values=BOS).astype("int32"),
        "labels": labels.astype("int32"),
        "weights": (np.arange(longest + 1)[None] <= lengths[:, None]).astype("float32"),
    }


def draw_texts(random, count, lengths, longest, symbols):
    """`(ids (count, longest), lengths (count,))`: random symbols, 0 behind the length, between `lengths` inclusive."""
    lengths = random.integers(lengths[0], lengths[1] + 1, count)
    ids = random.integers(FIRST, FIRST + symbols, (count, longest))
    return np.where(np.arange(longest)[None] < lengths[:, None], ids, 0), lengths


def reverse(ids, lengths):
    """Each row's first `length` ids in the opposite order; what stands behind them stays."""
    place = np.arange(ids.shape[1])[None]
    source = np.where(place < lengths[:, None], lengths[:, None] - 1 - place, place)
    return np.take_along_axis(ids, source, axis=1)


def draw_pointers(random, count, time, letters=8, reach=3, share=0.6):
    """`(tokens, labels, hops)`, each `(count, time)`: letters, and pointers to one of `reach` places to their left.

    The label of a letter is itself, that of a pointer is the label of where it points, which may be a pointer again;
    `hops` says how many are followed. Tokens begin at `FIRST`, labels at 0.
    """
    labels = random.integers(0, letters, (count, time))
    pointer = random.random((count, time)) < share
    hops, tokens = np.zeros_like(labels), labels + FIRST
    for at in range(1, time):
        distance = random.integers(1, min(reach, at) + 1, count)
        rows = np.flatnonzero(pointer[:, at])
        source = at - distance[rows]
        labels[rows, at], hops[rows, at] = labels[rows, source], hops[rows, source] + 1
        tokens[rows, at] = FIRST + letters + distance[rows] - 1
    return tokens.astype("int32"), labels.astype("int32"), hops


def make_tag_batch(tokens, labels):
    """A batch of a tagger, all of whose positions count."""
    weights = np.ones(tokens.shape, "float32")
    lengths = np.full(len(tokens), tokens.shape[1], "int32")
    return {"token_ids": tokens, "lengths": lengths, "labels": labels, "weights": weights}


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
