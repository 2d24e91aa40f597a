"""The battery's laws of training: masks are obeyed, rows stay apart, draws have seeds, and gradients are slopes."""

from contextlib import contextmanager

import keras
import numpy as np
import tensorflow as tf
from keras import tree

from zoo.check.laws import ROWS, assert_close, copied, dynamic_specs, named, numpy_leaves, valid
from zoo.core import protocols


class Around(keras.layers.Layer):
    """A layer around another, by which Keras tells all layers inside that this is training."""

    def __init__(self, case, layer):
        super().__init__(dtype=layer.dtype_policy, autocast=False)
        self.case, self.inner = case, layer
        self.built = True

    def call(self, arguments, training=None):
        return self.case.apply(self.inner, arguments)


def trained(built):
    """`arguments -> outputs` of a call in training."""
    around = Around(built.case, built.layer)
    around._convert_input_args = False  # masks and ids stay what they are
    return lambda arguments: around(tree.map_structure(tf.convert_to_tensor, arguments), training=True)


@contextmanager
def unmoved(layer):
    """A context after which the layer's seeds, moving averages and whatever else it keeps are what they were before."""
    before = [(each, each.numpy()) for each in [*layer.non_trainable_variables, *_seeds(layer)]]
    try:
        yield
    finally:
        for variable, value in before:
            variable.assign(value)


def _seeds(layer):
    return [
        each.state for one in [layer, *layer._flatten_layers()] for each in one._seed_generators if each is not None
    ]


def _once(built, run, rows=ROWS, time=5, noise=0):
    with unmoved(built.layer):
        return numpy_leaves(run(built.case.arguments(rows, time, noise)))


def _once_more(built, run, time):
    """Without a look back at the seeds, but for the moving averages, which stay."""
    averages = [(each, each.numpy()) for each in built.layer.non_trainable_weights]
    outputs = numpy_leaves(run(built.case.arguments(ROWS, time, 0)))
    for variable, value in averages:
        variable.assign(value)
    return outputs


@contextmanager
def _without_dropout(layer):
    """A context in which Keras' dropout layers inside drop nothing, so that sequences of other lengths compare."""
    held = [(each, each.rate) for each in layer._flatten_layers() if isinstance(each, keras.layers.Dropout)]
    try:
        for each, _ in held:
            each.rate = 0.0
        yield
    finally:
        for each, rate in held:
            each.rate = rate


def _needs_the_batch(layer):
    """Whether a layer inside declares that it takes statistics of the whole batch, of which padding is kept out."""
    declared = protocols.find_declaring(layer, protocols.FeedForward)
    return any(protocols.FeedForward.of(each).uses_mask for each in declared)


def check_training(built):
    """What no other law asks, for they call the layer without training.

    From one state of its seeds a call gives one result, and the next draws are others if they are drawn at all, in a
    graph as well as eagerly. The content of padding and, unless it is declared (`uses_mask`), of other rows changes no
    valid position; more padding neither, without dropout.
    """
    run = trained(built)
    first, again = _once(built, run), _once(built, run)
    for one, other in zip(first, again, strict=True):
        np.testing.assert_allclose(
            other, one, 1e-5, 1e-5, err_msg="in training it draws numbers that no seed of the layer decides"
        )
    with unmoved(built.layer):
        moving = [numpy_leaves(run(built.case.arguments(ROWS, 5, 0))) for _ in range(2)]
    draws = any(not np.array_equal(*pair) for pair in zip(*moving, strict=True))
    graph = tf.function(run, input_signature=[dynamic_specs(built.case)], autograph=False)
    assert_close(_once(built, graph), first, 1e-4, 1e-4)
    with unmoved(built.layer):
        frozen = [numpy_leaves(graph(built.case.arguments(ROWS, 5, 0))) for _ in range(2)]
    same = all(np.array_equal(*pair) for pair in zip(*frozen, strict=True))
    assert not (draws and same), "in training its graph draws the same numbers in every call"
    assert [(leaf.shape, leaf.dtype) for leaf in first] == [(leaf.shape, leaf.dtype) for leaf in built.outputs], (
        "in training its outputs have another shape or dtype"
    )
    others = _once(built, run, noise=3)
    alone = ROWS if _needs_the_batch(built.layer) else ((41, 5), ROWS[1], (43, 4))
    beside = _once(built, run, alone, noise=4)
    for index, (_, length) in enumerate(ROWS):
        _same(valid(others, index, length), valid(first, index, length), "what is in the padding")
        if alone[index] == ROWS[index]:
            _same(valid(beside, index, length), valid(first, index, length), "the other rows, or padding")
    if built.case.name == "causal":
        _check_causal(built, run)
    with _without_dropout(built.layer):
        before, again, longer = (_once_more(built, run, time) for time in (5, 5, 7))
        if all(np.array_equal(*pair) for pair in zip(before, again, strict=True)):  # else something draws by itself
            for index, (_, length) in enumerate(ROWS):
                _same(valid(longer, index, length), valid(before, index, length), "the amount of padding")


def _check_causal(built, run):
    """No position sees a later one, whose content is another here."""
    given = built.case.arguments(((41, 5), (42, 5)), 5, 0)
    before = []
    for later in (1.0, -1.0):
        turned = {
            name: np.concatenate([leaf[:, :2], later * leaf[:, 2:]], axis=1) if leaf.dtype.kind == "f" else leaf
            for name, leaf in given.items()
        }
        with unmoved(built.layer):
            before.append([leaf[:, :2] for leaf in numpy_leaves(run(turned))])
    _same(*before, "a later one, in spite of causal=True")


def _same(received, expected, what):
    for one, other in zip(received, expected, strict=True):
        np.testing.assert_allclose(one, other, 1e-4, 1e-5, err_msg=f"in training a valid position depends on {what}")


STEPS = (1e-6, 1e-4, 1e-3)  # the first is for what is computed in float64, the others where something inside is not
WORST = 0.03


def check_differences(built):
    """Of each weight and each input along its gradient, and of all together in random directions; in training, too."""
    precise = copied(built, "float64")
    for way, run in (
        ("", lambda arguments: precise.case.apply(precise.layer, arguments)),
        ("in training ", trained(precise)),
    ):
        _check_slopes(precise, run, way)


def _check_slopes(built, run, way):
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
