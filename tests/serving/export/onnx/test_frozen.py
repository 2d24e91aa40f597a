"""Weights go round the conversion, and whatever the names of the functions, those inside others know the shapes of what
they are given.
"""

import numpy as np
import pytest
import tensorflow as tf

from serving.export.onnx.convert import convert, load
from serving.export.onnx.frozen import LARGE, freeze, resolve_functions
from zoo.core.signatures import Signature, TensorSpec

WIDE = LARGE // 4
SPEC = tf.TensorSpec((None, WIDE), "float32", "x")


def test_only_weights_go_round():
    weight, small = tf.Variable(np.ones((WIDE, 2), "float32")), tf.Variable(3.0)
    table = tf.constant(np.arange(WIDE, dtype="int64"))
    function = tf.function(lambda x: tf.matmul(x, weight) * small + tf.cast(table[0], "float32"))
    concrete = function.get_concrete_function(SPEC)
    graph_def, weights = freeze(concrete, ["x:0"], [concrete.outputs[0].name])
    (array,) = weights.values()
    np.testing.assert_array_equal(array, weight)
    placeholders = {node.name for node in graph_def.node if node.op == "Placeholder"}
    assert placeholders == {"x", *(name.removesuffix(":0") for name in weights)}
    assert graph_def.ByteSize() < 4 * WIDE * 2 + 8 * WIDE


def test_weights_come_back_and_changes_afterwards_do_not_matter():
    weight = tf.Variable(np.eye(WIDE, dtype="float32"))

    def function(x):
        def body(step, x):
            return step + 1, tf.matmul(x, weight)

        return {"y": tf.while_loop(lambda step, x: step < 2, body, (0, x))[1]}

    signature = Signature(
        "f", (TensorSpec("x", "float32", ("batch", WIDE)),), (TensorSpec("y", "float32", ("batch", WIDE)),)
    )
    model = convert(function, signature)
    weight.assign(tf.zeros_like(weight))
    x = np.random.default_rng(0).normal(size=(2, WIDE)).astype("float32")
    assert [spec.name for spec in load(model).get_inputs()] == ["x"]
    np.testing.assert_allclose(load(model).run(None, {"x": x})[0], x, rtol=1e-6)


WEIGHT = tf.Variable(np.random.default_rng(0).normal(0, 0.3, (32, 32)).astype("float32"))


def nested(x):
    """A loop in a loop in a condition; the innermost takes a part of what has no shape without that of the weight."""

    def inner(step, total):
        return step + 1, 0.5 * total + tf.expand_dims(tf.nn.log_softmax(total + WEIGHT[0])[:, 1], 1)

    def outer(step, total):
        return step + 1, tf.while_loop(lambda step, _: step < 3, inner, (0, total))[1]

    def whole():
        return tf.while_loop(lambda step, _: step < 2, outer, (0, x))[1]

    return {"y": tf.cond(tf.reduce_sum(x) > 0, whole, lambda: x)}


def test_all_arguments_have_their_shapes():
    concrete = tf.function(nested, autograph=False).get_concrete_function(tf.TensorSpec((None, 32)))
    frozen, _ = freeze(concrete, [concrete.inputs[0].name], [concrete.structured_outputs["y"].name])
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(frozen, name="")
        functions = resolve_functions(graph)
    assert len(functions) == 6  # two branches, and the condition and the body of either loop
    held = [tuple(argument.shape) for function in functions for argument in function.inputs if argument.shape.rank]
    assert all(argument.shape.rank is not None for function in functions for argument in function.inputs)
    assert held.count((32, 32)) >= 3  # the weight, in a branch and in both bodies


@pytest.mark.parametrize("sign", [1, -1])
def test_a_loop_in_a_loop_in_a_condition_is_converted(sign):
    signature = Signature(
        "f", (TensorSpec("x", "float32", ("batch", 32)),), (TensorSpec("y", "float32", ("batch", 32)),)
    )
    model = convert(nested, signature)
    x = sign * np.abs(np.random.default_rng(1).normal(size=(3, 32))).astype("float32")
    np.testing.assert_allclose(load(model).run(None, {"x": x})[0], nested(tf.constant(x))["y"], atol=1e-5)


def growing(x):
    """A loop in a loop in which an array grows from nothing, as the keys of a search do."""

    def inner(step, kept):
        return step + 1, tf.concat([kept, x[:, None] * tf.cast(step + tf.shape(kept)[1], tf.float32)], 1)

    def outer(step, kept):
        shapes = tf.TensorShape([]), tf.TensorShape([None, None, 4])
        return step + 1, tf.while_loop(lambda step, _: step < 2, inner, (0, kept), shape_invariants=shapes)[1]

    shapes = tf.TensorShape([]), tf.TensorShape([None, None, 4])
    first = 0, tf.zeros((tf.shape(x)[0], 0, 4))
    return {"y": tf.while_loop(lambda step, _: step < 3, outer, first, shape_invariants=shapes)[1]}


def test_what_grows_in_a_loop_has_no_length_that_stays():
    """Functions that TensorFlow's optimiser made say nothing of their arguments: the loops that call them do."""
    concrete = tf.function(growing, autograph=False).get_concrete_function(tf.TensorSpec((None, 4)))
    frozen, _ = freeze(concrete, [concrete.inputs[0].name], [concrete.structured_outputs["y"].name])
    for function in frozen.library.function:
        function.arg_attr.clear()
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(frozen, name="")
        functions = resolve_functions(graph)
    shapes = [argument.shape.as_list() for function in functions for argument in function.inputs]
    assert shapes.count([None, None, 4]) == 4  # in the condition and the body of either loop
    assert [None, 0, 4] not in shapes
