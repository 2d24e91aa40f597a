"""Inside a graph all whole numbers are int64; outside, and for operators that know no other, they stay int32."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops
from onnx import TensorProto, helper

from serving.export.onnx.convert import convert, load
from serving.export.onnx.graphs import walk
from serving.export.onnx.integers import LARGE, widen
from zoo.core.signatures import Signature, TensorSpec

IDS = TensorSpec("ids", "int32", ("batch", "time"))
VALUES = np.array([[5, 0, 3], [1, 6, 2]], "int32")


def converted(function, dtype="int32", shape=("batch", "time"), values=VALUES):
    """The model of a function of ids, which gives what Keras gives, in its type."""
    model = convert(lambda ids: {"y": function(ids)}, Signature("f", (IDS,), (TensorSpec("y", dtype, shape),)))
    (found,) = load(model).run(None, {"ids": values})
    expected = ops.convert_to_numpy(function(tf.constant(values)))
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == expected.dtype
    return model


def casts(model):
    """`[(type, whether a body has it)]` of all casts to whole numbers."""
    nodes = [(node, inner is not model.graph) for inner in walk(model.graph) for node in inner.node]
    kinds = [(node.attribute[0].i, inside) for node, inside in nodes if node.op_type == "Cast"]
    return [each for each in kinds if each[0] in (TensorProto.INT32, TensorProto.INT64)]


def test_only_the_ends_are_cast():
    def counted(ids):
        def add(step, total):
            sizes = ops.shape(total)
            rows = ops.broadcast_to(ops.arange(sizes[1], dtype="int32")[None], sizes)
            return step + 1, total + rows * sizes[0] + ops.cast(ops.top_k(total, 1)[1], "int32")

        return ops.while_loop(lambda step, total: step < 4, add, (ops.zeros((), "int32"), ids))[1]

    found = converted(counted)
    assert sorted(casts(found)) == [(TensorProto.INT32, False), (TensorProto.INT64, False)]
    assert {each.type.tensor_type.elem_type for each in (*found.graph.input, *found.graph.output)} == {
        TensorProto.INT32
    }


@pytest.mark.parametrize("compare", [ops.less, ops.less_equal, ops.greater, ops.greater_equal])
def test_numbers_are_compared_that_float32_does_not_tell_apart(compare):
    near = np.array([[2**24, 2**24 + 1, 2**24 + 2]], "int32")
    converted(lambda ids: compare(ids, 2**24 + 1), "bool", values=near)


def test_an_output_that_is_a_constant_stays_int32():
    converted(lambda ids: ops.zeros((2, 3), "int32") + 7, shape=(2, 3))


def test_a_large_table_is_stored_in_32_bits():
    table = np.arange(LARGE * 7, dtype="int32").reshape(7, LARGE) % 1000
    model = converted(lambda ids: ops.take(table, ids, axis=0), shape=("batch", "time", LARGE))
    assert len(model.SerializeToString()) < table.nbytes + 2000


def test_lengths_of_a_recurrence_stay_int32():
    layer = keras.layers.GRU(4)
    layer.build((None, None, 3))
    vectors = np.random.default_rng(0).normal(size=(7, 3)).astype("float32")

    def last(ids):
        x = ops.take(vectors, ids, axis=0)
        return layer(x, mask=ops.arange(3, dtype="int32")[None] < 1 + ids[:, :1] % 3)

    signature = Signature("f", (IDS,), (TensorSpec("y", "float32", ("batch", 4)),))
    model = convert(lambda ids: {"y": last(ids)}, signature)
    assert "GRU" in [node.op_type for node in model.graph.node]
    found = load(model).run(None, {"ids": VALUES})[0]
    np.testing.assert_allclose(found, last(tf.constant(VALUES)), atol=1e-6)


def test_draws_of_no_named_type_are_int64_inside():
    """`Multinomial` draws int32 where it names no type."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])
    y = helper.make_tensor_value_info("y", TensorProto.INT32, [2, 4])
    graph = helper.make_graph([helper.make_node("Multinomial", ["x"], ["y"], sample_size=4)], "g", [x], [y])
    widen(graph)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    (drawn,) = load(model).run(None, {"x": np.log([[0.0, 1, 0], [1, 0, 0]] + np.float32(1e-30)).astype("float32")})
    np.testing.assert_array_equal(drawn, np.array([[1] * 4, [0] * 4], "int32"))
