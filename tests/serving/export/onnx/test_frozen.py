import numpy as np
import tensorflow as tf

from serving.export.onnx.convert import convert, load
from serving.export.onnx.frozen import LARGE, freeze
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
