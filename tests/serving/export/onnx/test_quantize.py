from collections import Counter

import keras
import numpy as np
import onnx
import tensorflow as tf
from keras import layers
from onnx import numpy_helper

from serving.export.onnx.convert import convert, load
from serving.export.onnx.graphs import walk
from serving.export.onnx.quantize import quantize
from serving.export.onnx.ranges import observe
from serving.export.onnx.weights import Beside
from zoo.core.signatures import Signature, TensorSpec


def light(model, *feeds):
    """The int8 version of a model, with the ranges of the feeds."""
    return quantize(model, observe(model, feeds))


def product(weight, then=lambda product: product):
    """The model of `then(x @ weight)`."""
    x, y = (TensorSpec(name, "float32", ("batch", size)) for name, size in zip("xy", weight.shape, strict=True))
    return convert(lambda x: {"y": then(x @ weight)}, Signature("f", (x,), (y,)))


def kinds(model):
    return Counter(node.op_type for graph in walk(model.graph) for node in graph.node)


def test_decoder_is_int8_in_and_out_of_the_loop_and_close_to_float(decoder):
    before = decoder.model.SerializeToString()
    model = light(decoder.model, *map(decoder.example, ((8, 11), (20, 13))))
    assert decoder.model.SerializeToString() == before
    found = kinds(model)
    assert found["MatMulIntegerToFloat"] == 4 and not found["MatMul"] + found["Gemm"]
    assert not any(kind.startswith("Dynamic") for kind in found)
    assert model.ByteSize() < 0.75 * len(before)
    inputs = decoder.example((8, 11))
    ids, expected = load(decoder.model).run(["token_ids", "logits"], inputs)
    others, received = load(model).run(["token_ids", "logits"], inputs)
    same = (ids == others).all(axis=1)  # of a model that was not trained, two tokens may be as likely
    assert same.sum() >= 3
    assert np.abs(received - expected)[same].max() < 0.05 * np.abs(expected).max()


def test_bias_joins_its_product(decoder):
    graphs = list(walk(light(decoder.model, decoder.example((5, 13))).graph))
    inside = [n for n in graphs[1].node if n.op_type == "MatMulIntegerToFloat"]
    assert [len(node.input) for node in inside] == [7, 7, 7]


def test_weights_are_signed_with_a_scale_per_column():
    random = np.random.default_rng(0)
    weight = random.normal(size=(17, 19)).astype("float32") * np.arange(1, 20, dtype="float32")
    model = light(product(weight), {"x": random.normal(size=(3, 17)).astype("float32")})
    constants = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    _, node = model.graph.node
    int8, scale = constants[node.input[1]], constants[node.input[3]]
    assert int8.dtype == np.int8 and scale.shape == (19,)
    assert np.abs(int8 * scale - weight).max(axis=0).max() <= (scale / 2).max() * 1.001
    np.testing.assert_array_equal(np.abs(int8).max(axis=0), 64)


def test_a_product_that_is_read_twice_keeps_its_addition():
    weight, bias = np.eye(17, dtype="float32"), np.ones(17, "float32")
    x, y, z = (TensorSpec(name, "float32", ("batch", 17)) for name in "xyz")

    def function(x):
        product = x @ weight
        return {"y": product + bias, "z": tf.exp(product)}

    model = convert(function, Signature("f", (x,), (y, z)))
    model = light(model, {"x": np.ones((1, 17), "float32")})
    assert kinds(model)["MatMulIntegerToFloat"] == 1
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
    quantized = light(model, {"x": x})
    assert kinds(quantized) == {"QuantizeLinear": 1, "MatMulIntegerToFloat": 1}
    (received,) = load(quantized).run(None, {"x": x})
    expected = x @ weight.T + bias
    assert np.abs(received - expected).max() < 0.02 * np.abs(expected).max()


def test_products_do_not_overflow_where_two_of_them_are_added_in_16_bits():
    x = np.ones((3, 512), "float32")
    (y,) = load(light(product(np.ones((512, 64), "float32")), {"x": x})).run(None, {"x": x})
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
    inputs = {"ids": np.array([0, 66, 5], "int32")}
    quantized = light(model, inputs)
    assert kinds(quantized)["MatMulIntegerToFloat"] == 1 and not kinds(quantized)["MatMul"]
    assert not any(t.data_type == onnx.TensorProto.FLOAT and len(t.dims) == 2 for t in quantized.graph.initializer)
    (received,), expected = load(quantized).run(None, inputs), function(**inputs)["y"].numpy()
    assert np.abs(received - expected).max() < 0.02 * np.abs(expected).max()


def test_of_a_large_network_the_tied_embedding_is_held_once():
    random = np.random.default_rng(0)
    table, bias = (random.normal(size=size).astype("float32") for size in ((67, 31), (67,)))
    table *= np.exp(random.normal(size=(67, 1))).astype("float32")  # each row has a scale of its own
    matrix = tf.Variable(table)
    ids = TensorSpec("ids", "int32", ("batch", "time"))
    x = TensorSpec("x", "float32", ("batch", "time", 31))
    y = TensorSpec("y", "float32", ("batch", "time", 67))

    def function(ids):
        found = tf.gather(matrix, ids)
        return {"x": found, "y": keras.ops.matmul(tf.tanh(found), tf.transpose(matrix)) + bias}

    weights = Beside()
    model = convert(function, Signature("tied", (ids,), (x, y)), weights=weights)
    inputs = {"ids": np.array([[0, 66, 5], [7, 7, 1]], "int32")}
    quantized = quantize(model, observe(model, [inputs], weights), weights)
    assert kinds(quantized)["MatMulIntegerToFloat"] == 1 and not kinds(quantized)["MatMul"] + kinds(quantized)["Add"]
    (held,) = [tensor for tensor in quantized.graph.initializer if len(tensor.dims) == 2]
    scale = np.abs(table).max(axis=1, keepdims=True) / 64
    np.testing.assert_array_equal(weights.array(held), np.rint(table / scale).astype("int8"))
    rows, received = load(quantized, weights).run(None, inputs)
    np.testing.assert_allclose(rows, (weights.array(held) * scale)[inputs["ids"]], rtol=1e-6)
    expected = function(**inputs)["y"].numpy()
    assert np.abs(received - expected).max() < 0.02 * np.abs(expected).max()


def test_gru_and_small_matrices_stay_float():
    x = TensorSpec("x", "float32", ("batch", "time", 17))
    y = TensorSpec("y", "float32", ("batch", "time", 3))
    gru, dense = layers.GRU(17, return_sequences=True), layers.Dense(3)
    model = convert(lambda x: {"y": dense(gru(x))}, Signature("f", (x,), (y,)))
    assert kinds(quantize(model, {})) == kinds(model)


def test_a_row_is_the_same_beside_any_other():
    """Exactly: beside a row of numbers a thousand times as large, and among many rows."""
    random = np.random.default_rng(0)
    weight = random.normal(size=(31, 67)).astype("float32")
    model = product(weight, tf.tanh)
    rows = random.normal(size=(40, 31)).astype("float32")
    session = load(light(model, {"x": rows[:7]}))
    alone = np.concatenate([session.run(None, {"x": row[None]})[0] for row in rows])
    for others in (rows[:0], 1000 * rows[:1], rows[::-1]):
        together = session.run(None, {"x": np.concatenate([rows, others])})[0][: len(rows)]
        np.testing.assert_array_equal(together, alone)


def test_a_sequence_of_an_lstm_is_the_same_beside_any_other():
    random = np.random.default_rng(0)
    x = TensorSpec("x", "float32", ("batch", "time", 17))
    lstm = layers.LSTM(23, return_sequences=True)
    model = convert(
        lambda x: {"y": lstm(x)}, Signature("f", (x,), (TensorSpec("y", "float32", ("batch", "time", 23)),))
    )
    small = light(model)
    assert small.ByteSize() < 0.5 * model.ByteSize() and kinds(small)["LSTM"] == 1
    rows = random.normal(size=(3, 9, 17)).astype("float32")
    session, whole = load(small), load(model)
    alone = np.concatenate([session.run(None, {"x": row[None]})[0] for row in rows])
    together = session.run(None, {"x": np.concatenate([rows, 1000 * rows])})[0][:3]
    np.testing.assert_allclose(together, alone, atol=1e-6)
    np.testing.assert_allclose(alone, whole.run(None, {"x": rows})[0], atol=0.02)


def test_what_lies_beyond_its_range_becomes_its_nearest_end():
    model = product(np.eye(17, dtype="float32"))
    seen = np.tile(np.array([[-1.0], [3.0]], "float32"), 17)
    (found,) = load(light(model, {"x": seen})).run(
        None, {"x": np.tile(np.array([[-9.0], [0.0], [9.0]], "float32"), 17)}
    )
    np.testing.assert_allclose(found, np.tile([[-1.0], [0.0], [3.0]], 17), atol=4 / 255)


def test_a_product_that_was_not_seen_stays_float():
    model = product(np.eye(17, dtype="float32"))
    for small in (quantize(model, {}), light(model, {"x": np.zeros((1, 17), "float32")})):
        assert kinds(small) == kinds(model)
