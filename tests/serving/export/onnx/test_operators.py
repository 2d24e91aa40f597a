import keras
import numpy as np
import tensorflow as tf
from keras import layers, ops

from serving.export.onnx.convert import convert, load
from serving.export.onnx.handlers import onnx_op
from serving.export.onnx.operators import native_operators
from zoo.core import tensors
from zoo.core.signatures import Signature, TensorSpec
from zoo.decoding import rules

X = TensorSpec("x", "float32", ("batch", "time", 6))
ROW, OUT = (TensorSpec(name, "float32", ("batch", 3)) for name in "xy")


def converted(function, inputs, shape, dtype="float32"):
    """The operators of the function's graph; its numbers are compared with Keras'."""
    signature = Signature("f", tuple(inputs), (TensorSpec("y", dtype, shape),))
    model = convert(lambda **values: {"y": function(*values.values())}, signature)
    random = np.random.default_rng(0)
    sizes = {"batch": 3, "time": 5}
    values = {
        spec.name: (4 * random.random([sizes.get(axis, axis) for axis in spec.shape]) - 2).astype(spec.dtype)
        for spec in inputs
    }
    np.testing.assert_allclose(load(model).run(None, values)[0], function(*values.values()), atol=1e-6)
    return [node.op_type for node in model.graph.node]


def test_dense_over_time_is_one_product():
    dense = layers.Dense(4, activation="relu", bias_initializer="ones")
    assert converted(dense, [X], ("batch", "time", 4)) == ["MatMul", "Add", "Relu"]


def test_layer_normalisation_is_one_node_where_onnx_has_it():
    norm = layers.LayerNormalization(epsilon=1e-5)
    norm.build((None, None, 6))
    norm.gamma.assign(np.arange(6, dtype="float32"))
    assert converted(lambda x: norm(x), [X], ("batch", "time", 6)) == ["LayerNormalization"]
    other = layers.LayerNormalization(axis=[1, 2])
    other.build((None, 5, 6))
    fixed = TensorSpec("x", "float32", ("batch", 5, 6))
    assert "LayerNormalization" not in converted(lambda x: other(x), [fixed], ("batch", 5, 6))


def test_rows_and_beams_are_picked_by_one_node():
    table = keras.Variable(np.random.default_rng(0).normal(size=(7, 6)).astype("float32"))
    ids = TensorSpec("ids", "int32", ("batch", "time"))
    picked = converted(lambda ids: ops.take(table, ops.abs(ids), axis=0), [ids], ("batch", "time", 6))
    assert picked == ["Cast", "Abs", "Gather"]
    leaf, parents = TensorSpec("leaf", "float32", ("batch", 2, "time")), TensorSpec("parents", "int32", ("batch", 2))
    gathered = converted(
        lambda leaf, parents: tensors.gather_beams(leaf, ops.abs(parents) % 2), [leaf, parents], ("batch", 2, "time")
    )
    assert gathered.count("GatherND") == 1 and "Gather" not in gathered


def test_other_products_and_look_ups_are_those_of_keras():
    a, b = tf.random.normal((2, 3, 4)), tf.random.normal((3, 4, 5))
    with native_operators():
        product = ops.tensordot(a, b, axes=2)
        flat = ops.take(a, [1, 23])
    np.testing.assert_allclose(product, np.tensordot(a, b, axes=2), atol=1e-5)
    np.testing.assert_array_equal(flat, np.take(a, [1, 23]))


def test_a_transposed_factor_stays_so_in_a_loop():
    """There tf2onnx does not know its shape."""
    weight = tf.constant(np.random.default_rng(0).normal(0, 0.5, (6, 6)).astype("float32"))

    def turned(x):
        going, step = lambda step, _: step < 3, lambda step, x: (step + 1, tf.matmul(x, weight, transpose_b=True))
        return tf.while_loop(going, step, (0, x))[1]

    converted(turned, [TensorSpec("x", "float32", ("batch", 6))], ("batch", 6))

    def both(x):
        going, step = lambda step, _: step < 3, lambda step, x: (step + 1, tf.matmul(x, x, transpose_a=True) / 9)
        return tf.while_loop(going, step, (0, x))[1]

    converted(both, [TensorSpec("x", "float32", (6, 6))], (6, 6))


def test_what_may_not_be_written_is_one_node():
    """Also where an id stands at several places, and where one that is none stands at a place that does not count."""
    ids = TensorSpec("ids", "int32", ("batch", 2, 5))

    def bars(ids):
        ids = ops.where(ops.arange(5) == 4, -1, ops.abs(ids))
        return rules.barred(ops.zeros((ops.shape(ids)[0], 2, 7)), ids >= 1, ids)

    assert converted(bars, [ids], ("batch", 2, 7)).count("ScatterElements") == 1


def test_a_marker_is_one_node_with_its_attributes_and_absent_inputs():
    def function(x):
        (y,) = onnx_op("Clip", [x, None, tf.constant(2.0)], ["float32"], [(None, 3)])
        return {"y": y}

    model = convert(function, Signature("clip", (ROW,), (OUT,)))
    (node,) = model.graph.node
    assert (node.op_type, node.input[:2]) == ("Clip", ["x", ""])
    (y,) = load(model).run(None, {"x": np.array([[-5, 1, 7]], "float32")})
    np.testing.assert_array_equal(y, [[-5, 1, 2]])


def test_a_marker_of_another_domain_inside_a_loop():
    def function(x):
        def body(step, x):
            (y,) = onnx_op("BiasGelu", [x, bias], ["float32"], [(None, 3)], domain="com.microsoft")
            return step + 1, y

        bias = tf.constant([0.0, 1.0, 2.0])
        _, y = tf.while_loop(lambda step, x: step < 2, body, [0, x])
        return {"y": y}

    model = convert(function, Signature("gelu", (ROW,), (OUT,)))
    (y,) = load(model).run(None, {"x": np.array([[1, -1, 3]], "float32")})
    expected = np.array([[1, -1, 3]], "float32")
    for _ in range(2):
        expected = tf.nn.gelu(expected + np.array([0, 1, 2], "float32")).numpy()
    np.testing.assert_allclose(y, expected, atol=2e-6)
