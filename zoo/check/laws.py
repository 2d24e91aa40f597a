"""The contract battery: what every layer and model must do. It knows no concrete model.

A `Case` describes a layer, `build` makes it, and each `check_*` is one law: an AssertionError says that it does not
hold. What another process must compute (a fresh one, or one on JAX) is in `zoo.check.elsewhere`.
"""

import copy
import functools
import json
from collections.abc import Callable
from dataclasses import dataclass, field

import keras
import numpy as np
import tensorflow as tf
from keras import tree

from zoo.check.gradients import gradients, unseen_weights

ROWS = ((11, 5), (12, 3), (13, 1))  # (seed of the content, length) of each row of a batch
SMALLEST = ((21, 1),), 1
SIZES = SMALLEST, (((22, 3),), 3), (((23, 1), (24, 1), (25, 0)), 1), (((26, 7),) * 5, 7)


@dataclass(frozen=True)
class Case:
    """How to make a layer, what it is called with, and how.

    `arguments(rows, time, noise)` gives a nest of arrays, batch first: the content of row
    `(seed, length)` depends on its seed alone, everything behind its length on `noise` alone.
    `without` names laws that cannot be asked of it; of a `core` case the costly laws are asked in
    every run, of the others in the slow one.
    """

    name: str
    make: Callable
    arguments: Callable
    apply: Callable = lambda layer, arguments: layer(**arguments)
    without: tuple = ()
    core: bool = False


def sequences(rows, time, units, noise=0, stream=0):
    """`(batch, time, units)` float32: each row's own content up to its length, noise behind it."""
    padded = np.random.default_rng([noise, stream]).normal(size=(len(rows), time, units))
    for index, (seed, length) in enumerate(rows):
        padded[index, :length] = np.random.default_rng([seed, stream]).normal(size=(length, units))
    return padded.astype("float32")


def token_ids(rows, time, vocabulary, noise=0, stream=0):
    """`(batch, time)` int32, as `sequences`; id 0 may stand anywhere: masks come from lengths."""
    padded = np.random.default_rng([noise, stream]).integers(0, vocabulary, (len(rows), time))
    for index, (seed, length) in enumerate(rows):
        padded[index, :length] = np.random.default_rng([seed, stream]).integers(0, vocabulary, length)
    return padded.astype("int32")


def lengths(rows):
    return np.array([length for _, length in rows], dtype="int32")


def length_mask(rows, time):
    return np.arange(time)[None, :] < lengths(rows)[:, None]


def numpy_leaves(outputs):
    return [tf.convert_to_tensor(leaf).numpy() for leaf in tree.flatten(outputs)]


def named(structure):
    """`{"path.to.leaf": leaf}`."""
    return {".".join(map(str, path)): leaf for path, leaf in tree.flatten_with_path(structure)}


@dataclass
class Built:
    """A case's layer, built, with random weights (biases too), and what it gives for `ROWS`."""

    case: Case
    layer: keras.layers.Layer
    outputs: list = field(default_factory=list)

    def run(self, rows=ROWS, time=5, noise=0):
        return numpy_leaves(self.case.apply(self.layer, self.case.arguments(rows, time, noise)))


def build(case):
    built = Built(case, case.make())
    built.run(*SMALLEST)
    generator = np.random.default_rng(5)
    for weight in built.layer.trainable_weights:
        weight.assign(generator.normal(0.0, 0.5, weight.shape))
    built.outputs = built.run()
    return built


def copied(built, policy=None):
    """The same layer with the same weights, made under a dtype policy; with "float64" all is computed in that."""
    before, floatx = keras.config.dtype_policy(), keras.config.floatx()
    keras.config.set_floatx("float64" if policy == "float64" else floatx)
    keras.config.set_dtype_policy(policy or before)
    try:
        twin = Built(built.case, built.case.make())
        twin.run(*SMALLEST)
    finally:
        keras.config.set_floatx(floatx)
        keras.config.set_dtype_policy(before)
    twin.layer.set_weights(built.layer.get_weights())
    return twin


def assert_close(received, expected, atol=1e-5, rtol=1e-5):
    assert len(received) == len(expected)
    for one, other in zip(received, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=atol, rtol=rtol)


def changed(after, before, axis):
    """Where two outputs differ by more than rounding could make of the same value."""
    return np.any(np.abs(after - before) > 1e-5 * np.abs(before).max(initial=0.0), axis=axis)


def check_config(built):
    """JSON holds the whole config, reading it leaves it alone, and the copy is the same layer."""
    config = built.layer.get_config()
    given = copy.deepcopy(config)
    clone = type(built.layer).from_config(given)
    assert clone.get_config() == config, f"a copy by from_config has another config: {clone.get_config()} for {config}"
    if not type(built.layer).__module__.startswith("keras."):  # Keras' own are not so strict
        assert given == config, "from_config changed the config it was given"
    written = json.dumps(keras.saving.serialize_keras_object(built.layer))
    twin = Built(built.case, keras.saving.deserialize_keras_object(json.loads(written)))
    twin.run(*SMALLEST)
    assert json.dumps(keras.saving.serialize_keras_object(twin.layer)) == written, (
        "a copy out of JSON is written otherwise"
    )
    twin.layer.set_weights(built.layer.get_weights())
    assert_close(twin.run(), built.outputs, 0, 0)


def dynamic_specs(case):
    """Specs of the arguments with None for every axis that follows the batch or the time."""
    small, large = case.arguments(ROWS[:2], 5, 0), case.arguments(ROWS, 7, 0)

    def spec(one, other):
        shape = [a if a == b else None for a, b in zip(one.shape, other.shape, strict=True)]
        return tf.TensorSpec(shape, one.dtype)

    return tree.map_structure(spec, small, large)


def symbolic_inputs(specs):
    """`({name: an input of Keras}, the same nested as the specs are)`."""
    inputs = {
        name: keras.Input(batch_shape=spec.shape, dtype=spec.dtype.name, name=name)
        for name, spec in named(specs).items()
    }
    return inputs, tree.pack_sequence_as(specs, list(inputs.values()))


def functional(built):
    """The layer as a model of flat named inputs, which is itself where it is one already."""
    inputs, nested = symbolic_inputs(dynamic_specs(built.case))
    outputs = built.case.apply(built.layer, nested)
    if isinstance(built.layer, keras.Model):
        return built.layer, outputs
    return keras.Model(inputs, outputs), outputs


def flat_arguments(built):
    return named(built.case.arguments(ROWS, 5, 0))


def check_symbolic(built):
    """What Keras says without values has the rank, the sizes and the dtype of what comes out."""
    model, symbolic = functional(built)
    symbolic = tree.flatten(symbolic)
    assert_close(numpy_leaves(model(flat_arguments(built))), built.outputs, 1e-6)
    for one, other in zip(symbolic, built.outputs, strict=True):
        assert one.dtype == other.dtype, f"without values {one.dtype}, with values {other.dtype}"
        assert len(one.shape) == other.ndim, f"without values {one.shape}, with values {other.shape}"
        assert one.shape[-1] == other.shape[-1], "the last axis is static"
        sizes = zip(one.shape, other.shape, strict=True)
        assert all(size in (None, true) for size, true in sizes), f"without values {one.shape}, with {other.shape}"


def check_static(built):
    """Where the batch, the time or both are numbers, what Keras says without values is what comes out."""
    for rows, time in ((((1, 5), (2, 4), (3, 2)), 5), (((1, 3), (2, 1)), 3)):
        arguments = built.case.arguments(rows, time, 0)
        true = [tuple(leaf.shape) for leaf in tree.flatten(built.run(rows, time))]
        for batch in (None, len(rows)):
            specs = {
                name: keras.KerasTensor((batch, *leaf.shape[1:]), leaf.dtype.name)
                for name, leaf in named(arguments).items()
            }
            symbolic = built.case.apply(built.layer, tree.pack_sequence_as(arguments, list(specs.values())))
            for one, shape in zip(tree.flatten(symbolic), true, strict=True):
                fits = len(one.shape) == len(shape) and all(
                    size in (None, real) for size, real in zip(one.shape, shape, strict=True)
                )
                assert fits, f"for inputs of {time} positions without values {one.shape}, with values {shape}"


def check_graph(built):
    """Eager = one dynamic graph, traced once for all sizes, 1 and odd primes among them."""
    function = tf.function(
        functools.partial(built.case.apply, built.layer),
        input_signature=[dynamic_specs(built.case)],
        autograph=False,
    )
    for rows, time in SIZES:
        received = numpy_leaves(function(built.case.arguments(rows, time, 0)))
        assert_close(received, built.run(rows, time))
        assert all(np.all(np.isfinite(leaf)) for leaf in received), (
            f"not finite for {len(rows)} rows of {time} positions"
        )
    assert function.experimental_get_tracing_count() == 1, "one graph does not do for all sizes"


def check_xla(built):
    function = tf.function(functools.partial(built.case.apply, built.layer), jit_compile=True, autograph=False)
    assert_close(numpy_leaves(function(built.case.arguments(ROWS, 5, 0))), built.outputs)


def check_bfloat16(built):
    """Mixed precision runs, is near float32, and reaches every sub-layer."""
    for one, other in zip(copied(built, "mixed_bfloat16").run(), built.outputs, strict=True):
        assert np.all(np.isfinite(one.astype("float32"))), "not finite in bfloat16"
        np.testing.assert_allclose(one.astype("float32"), other, atol=0.05 * np.abs(other).max())


def valid(outputs, index, length):
    """One row's part: its first `length` positions, or all of an output without a time axis."""
    return [leaf[index, :length] if leaf.ndim > 2 else leaf[index] for leaf in outputs]


def check_padding(built):
    """More padding, other padding and other rows in the batch change no valid position."""
    longer = built.run(ROWS, 7, noise=3)
    others = built.run((*ROWS[::-1], (14, 7), (15, 0)), 7, noise=4)
    for index, (_, length) in enumerate(ROWS):
        expected = valid(built.outputs, index, length)
        assert_close(valid(longer, index, length), expected)
        assert_close(valid(others, len(ROWS) - 1 - index, length), expected)
    alone = built.run(ROWS[1:2], ROWS[1][1])
    assert_close(valid(alone, 0, ROWS[1][1]), valid(built.outputs, 1, ROWS[1][1]))


def check_gradients(built):
    """Every trainable weight is trained, but those that the formula does not see.

    A layer derived from one of those formulas may see such a weight or not, so that either passes.

    A gradient is real where float32 and float64 find the same one. Rounding noise never does: it is smaller by nine
    orders of magnitude in float64.
    """
    single, _ = gradients(built, ROWS, 5)
    double, _ = gradients(copied(built, "float64"), ROWS, 5)
    unseen, doubtful = (unseen_weights(built.layer, derived) for derived in (False, True))
    measures = {weight.path: np.abs(one).max() for (weight, one) in single if one is not None}
    for (weight, one), (_, other) in zip(single, double, strict=True):
        path = weight.path
        assert one is not None and other is not None, f"{path} has no gradient"
        assert np.all(np.isfinite(one)), path
        error, size = np.abs(one - other).max(), np.abs(other).max()
        measure = measures[doubtful[id(weight)].path] if id(weight) in doubtful else 0.0
        is_zero = max(error, size) < 1e-3 * measure
        if id(weight) in unseen:
            assert is_zero, f"the gradient of {path} is not zero, as its formula says: {size}"
        elif not is_zero:
            assert size > 0, f"the gradient of {path} is zero"
            assert error < 0.01 * size, f"the gradient of {path} is {one} in float32 and {other} in float64: noise"


def check_empty_row(built):
    """A row that is all padding gives finite values and gradients, among others and alone."""
    for rows in (((31, 3), (32, 0)), ((32, 0),)):
        weights, others = gradients(built, rows, 3)
        derivatives = [*(one for _, one in weights), *others]
        assert all(np.all(np.isfinite(one)) for one in derivatives if one is not None), "a row of padding is not finite"


CHEAP = {
    "config": check_config,
    "padding": check_padding,
    "gradients": check_gradients,
    "empty_row": check_empty_row,
}
COSTLY = {
    "symbolic": check_symbolic,
    "graph": check_graph,
    "bfloat16": check_bfloat16,
    "xla": check_xla,
}
LAWS = {**CHEAP, **COSTLY}


def check_causal(function, inputs):
    """`function(inputs)[:, t]` depends on `inputs[:, t]` and on nothing later.

    A gradient that is zero by the formula may be rounding: below 1e-5 of the greatest it counts as zero.
    """
    inputs = tf.convert_to_tensor(inputs)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(inputs)
        outputs = tf.unstack(tf.reduce_sum(function(inputs) ** 2, axis=(0, 2)))
    for position, output in enumerate(outputs):
        gradient = np.abs(tape.gradient(output, inputs).numpy()).sum(axis=(0, 2))
        assert gradient[position] > 1e-4 * gradient.max(), f"position {position} does not see itself"
        later = gradient[position + 1 :].max(initial=0.0)
        assert later <= 1e-5 * gradient.max(), f"position {position} sees later ones: a gradient of {later:.2g}"
