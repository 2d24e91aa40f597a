import numpy as np
import tensorflow as tf

from serving.export.onnx.convert import convert, load
from serving.export.onnx.handlers import onnx_op
from zoo.core.signatures import Signature, TensorSpec

X = TensorSpec("x", "float32", ("batch", 3))
Y = TensorSpec("y", "float32", ("batch", 3))


def test_a_marker_is_one_node_with_its_attributes_and_absent_inputs():
    def function(x):
        (y,) = onnx_op("Clip", [x, None, tf.constant(2.0)], ["float32"], [(None, 3)])
        return {"y": y}

    model = convert(function, Signature("clip", (X,), (Y,)))
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

    model = convert(function, Signature("gelu", (X,), (Y,)))
    (y,) = load(model).run(None, {"x": np.array([[1, -1, 3]], "float32")})
    expected = np.array([[1, -1, 3]], "float32")
    for _ in range(2):
        expected = tf.nn.gelu(expected + np.array([0, 1, 2], "float32")).numpy()
    np.testing.assert_allclose(y, expected, atol=2e-6)
