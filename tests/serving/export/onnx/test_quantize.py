from collections import Counter

import numpy as np
import onnx
import tensorflow as tf
from keras import layers
from onnx import numpy_helper

from serving.export.onnx.convert import convert, load
from serving.export.onnx.graphs import walk
from serving.export.onnx.quantize import quantize
from zoo.core.signatures import Signature, TensorSpec


def kinds(model):
    return Counter(node.op_type for graph in walk(model.graph) for node in graph.node)


def test_decoder_is_int8_in_and_out_of_the_loop_and_close_to_float(decoder):
    before = decoder.model.SerializeToString()
    model = quantize(decoder.model)
    assert decoder.model.SerializeToString() == before
    found = kinds(model)
    assert found["DynamicQuantizeLSTM"] == 1 and found["DynamicQuantizeMatMul"] == 4
    assert not found["LSTM"] + found["MatMul"] + found["Gemm"]
    assert model.ByteSize() < 0.75 * len(before)
    inputs = decoder.example((5, 13))
    expected = load(decoder.model).run(["logits"], inputs)[0]
    received = load(model).run(["logits"], inputs)[0]
    assert np.abs(received - expected).max() < 0.05 * np.abs(expected).max()


def test_bias_joins_its_product(decoder):
    graphs = list(walk(quantize(decoder.model).graph))
    inside = [n for n in graphs[1].node if n.op_type == "DynamicQuantizeMatMul"]
    assert [len(node.input) for node in inside] == [5, 5, 5]


def test_weights_are_signed_with_a_scale_per_column():
    random = np.random.default_rng(0)
    weight = random.normal(size=(17, 19)).astype("float32") * np.arange(1, 20, dtype="float32")
    x = TensorSpec("x", "float32", ("batch", 17))
    y = TensorSpec("y", "float32", ("batch", 19))
    model = quantize(convert(lambda x: {"y": x @ weight}, Signature("f", (x,), (y,))))
    constants = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    (node,) = model.graph.node
    int8, scale = constants[node.input[1]], constants[node.input[2]]
    assert int8.dtype == np.int8 and scale.shape == (19,)
    assert np.abs(int8 * scale - weight).max(axis=0).max() <= (scale / 2).max() * 1.001
    np.testing.assert_array_equal(np.abs(int8).max(axis=0), 64)


def test_a_product_that_is_read_twice_keeps_its_addition():
    weight, bias = np.eye(17, dtype="float32"), np.ones(17, "float32")
    x, y, z = (TensorSpec(name, "float32", ("batch", 17)) for name in "xyz")

    def function(x):
        product = x @ weight
        return {"y": product + bias, "z": tf.exp(product)}

    model = quantize(convert(function, Signature("f", (x,), (y, z))))
    y, z = load(model).run(None, {"x": np.zeros((1, 17), "float32")})
    np.testing.assert_array_equal((y, z), 1)


def test_gemm_with_a_transposed_weight():
    random = np.random.default_rng(0)
    weight, bias = random.normal(size=(19, 17)).astype("float32"), np.ones(19, "float32")
    graph = onnx.parser.parse_graph("f (float[n,17] x) => (float[n,19] y) { y = Gemm(x, w, b) }")
    graph.node[0].attribute.append(onnx.helper.make_attribute("transB", 1))
    for name, array in (("w", weight), ("b", bias)):
        graph.initializer.append(numpy_helper.from_array(array, name))
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=8)
    x = random.normal(size=(5, 17)).astype("float32")
    quantized = quantize(model)
    assert kinds(quantized) == {"DynamicQuantizeMatMul": 1}
    (received,) = load(quantized).run(None, {"x": x})
    expected = x @ weight.T + bias
    assert np.abs(received - expected).max() < 0.02 * np.abs(expected).max()


def test_products_do_not_overflow_where_two_of_them_are_added_in_16_bits():
    x = np.ones((3, 512), "float32")
    spec, out = TensorSpec("x", "float32", ("batch", 512)), TensorSpec("y", "float32", ("batch", 64))
    model = quantize(convert(lambda x: {"y": x @ np.ones((512, 64), "float32")}, Signature("f", (spec,), (out,))))
    (y,) = load(model).run(None, {"x": x})
    np.testing.assert_allclose(y, 512, rtol=1e-2)


def test_tied_embedding_is_read_and_multiplied_as_int8():
    random = np.random.default_rng(0)
    table = tf.constant(random.normal(size=(67, 31)).astype("float32"))
    ids = TensorSpec("ids", "int32", ("batch",))
    y = TensorSpec("y", "float32", ("batch", 67))

    def function(ids):
        return {"y": tf.matmul(tf.gather(table, ids), table, transpose_b=True)}

    model = convert(function, Signature("tied", (ids,), (y,)))
    assert sum(len(tensor.dims) == 2 for tensor in model.graph.initializer) == 1
    quantized = quantize(model)
    assert kinds(quantized)["DynamicQuantizeMatMul"] == 1 and not kinds(quantized)["MatMul"]
    assert not any(t.data_type == onnx.TensorProto.FLOAT and len(t.dims) == 2 for t in quantized.graph.initializer)
    inputs = {"ids": np.array([0, 66, 5], "int32")}
    (received,), expected = load(quantized).run(None, inputs), function(**inputs)["y"].numpy()
    assert np.abs(received - expected).max() < 0.02 * np.abs(expected).max()


def test_gru_and_small_matrices_stay_float():
    x = TensorSpec("x", "float32", ("batch", "time", 17))
    y = TensorSpec("y", "float32", ("batch", "time", 3))
    gru, dense = layers.GRU(17, return_sequences=True), layers.Dense(3)
    model = convert(lambda x: {"y": dense(gru(x))}, Signature("f", (x,), (y,)))
    assert kinds(quantize(model)) == kinds(model)
