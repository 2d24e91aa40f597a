"""The contract battery's law of finite differences: a gradient is the slope of what the layer computes."""

import numpy as np
import tensorflow as tf
from keras import tree

from zoo.check.in_training import trained, unmoved
from zoo.check.laws import ROWS, in_float64, named

STEPS = (1e-6, 1e-4, 1e-3)  # the first is for what is computed in float64, the others where something inside is not
WORST = 0.03


def check(built):
    """Of each weight and each input along its gradient, and of all together in random directions; in training, too."""
    precise = in_float64(built)
    for way, run in (
        ("", lambda arguments: precise.case.apply(precise.layer, arguments)),
        ("in training ", trained(precise)),
    ):
        _check(precise, run, way)


def _check(built, run, way):
    given = built.case.arguments(ROWS, 5, 0)
    arguments = {
        name: tf.Variable(leaf, dtype="float64") if leaf.dtype.kind == "f" else tf.constant(leaf)
        for name, leaf in named(given).items()
    }
    inputs = {name: leaf for name, leaf in arguments.items() if isinstance(leaf, tf.Variable)}
    sources = {**{each.path: each.value for each in built.layer.trainable_weights}, **inputs}
    random = np.random.default_rng(8)
    weights = [random.normal(size=leaf.shape) for leaf in built.run()]

    def loss():
        with unmoved(built.layer):
            leaves = [tf.convert_to_tensor(leaf) for leaf in arguments.values()]
            outputs = tree.flatten(run(tree.pack_sequence_as(given, leaves)))
            pairs = zip(outputs, weights, strict=True)
            return sum(tf.reduce_sum(tf.cast(leaf, "float64") * weight) for leaf, weight in pairs)

    with tf.GradientTape() as tape:
        value = loss()
    derivatives = tape.gradient(value, list(sources.values()))
    gradients = {
        name: np.zeros(source.shape) if one is None else tf.convert_to_tensor(one).numpy().astype("float64")
        for (name, source), one in zip(sources.items(), derivatives, strict=True)
    }
    greatest = max((np.linalg.norm(one) for one in gradients.values()), default=0.0)
    for name, gradient in gradients.items():
        norm = np.linalg.norm(gradient)
        if norm > 1e-6 * greatest:
            _compare(loss, sources, {name: gradient / norm}, norm, norm, f"{way}by {name}")
    for _ in range(3):
        direction = {name: random.choice([-1.0, 1.0], source.shape) for name, source in sources.items()}
        expected = sum(np.sum(gradients[name] * each) for name, each in direction.items())
        size = np.sqrt(sum(np.linalg.norm(one) ** 2 for one in gradients.values()))
        _compare(loss, sources, direction, expected, max(size, abs(expected)), f"{way}in a random direction")


def _compare(loss, sources, direction, expected, size, where):
    """Whether for one of the steps the difference is what the gradient says, up to a share of `size`."""
    errors = []
    for step in STEPS:
        ends = []
        for sign in (1.0, -1.0):
            before = {name: sources[name].numpy() for name in direction}
            for name, each in direction.items():
                sources[name].assign((before[name] + sign * step * each).astype(before[name].dtype))
            ends.append(float(loss()))
            for name, value in before.items():
                sources[name].assign(value)
        errors.append(abs((ends[0] - ends[1]) / (2 * step) - expected) / max(size, 1e-12))
        if errors[-1] < WORST:
            return
    raise AssertionError(f"the gradient {where} is off by {min(errors):.0%} of it, by finite differences")
