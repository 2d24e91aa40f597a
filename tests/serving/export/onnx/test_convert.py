import importlib
import logging

import keras
import numpy as np
import onnx
import pytest
import tensorflow as tf
from keras import layers, ops
from onnx.reference import ReferenceEvaluator

from serving.export.onnx.convert import convert, load, write
from serving.export.onnx.graphs import walk
from serving.runtime.errors import ConversionError
from zoo.core.signatures import Signature, TensorSpec

X = TensorSpec("x", "float32", ("batch", "time", 3))
N = TensorSpec("n", "int32", ("batch",))
Y = TensorSpec("y", "float32", ("batch", "time", 3))


def shape_of(value):
    return [d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim]


def test_names_dtypes_axes_and_order_are_those_of_the_signature(tmp_path):
    def function(n, x):
        return {"count": n + 1, "y": x * ops.cast(n, "float32")[:, None, None]}

    count = TensorSpec("count", "int32", ("batch",))
    path = tmp_path / "model.onnx"
    model = convert(function, Signature("f", (X, N), (Y, count)))
    graph = model.graph
    assert [v.name for v in graph.input] == ["x", "n"]
    assert [v.name for v in graph.output] == ["y", "count"]
    assert shape_of(graph.input[0]) == ["batch", "time", 3]
    assert shape_of(graph.output[0]) == ["batch", "time", 3]
    assert graph.output[1].type.tensor_type.elem_type == onnx.TensorProto.INT32
    write(model, path)
    assert [file.name for file in tmp_path.iterdir()] == ["model.onnx"]
    x, n = np.ones((2, 5, 3), "float32"), np.array([4, 7], "int32")
    y, counts = load(onnx.load(path)).run(None, {"x": x, "n": n})
    np.testing.assert_array_equal(y[:, 0, 0], [4, 7])
    np.testing.assert_array_equal(counts, [5, 8])


def test_outputs_that_are_inputs_or_constants_and_unused_inputs():
    def function(x, n):
        return {"y": x, "one": tf.constant([1.0])}

    one = TensorSpec("one", "float32", (1,))
    session = load(convert(function, Signature("f", (X, N), (Y, one))))
    x = np.ones((1, 2, 3), "float32")
    y, constant = session.run(None, {"x": x, "n": np.array([1], "int32")})
    np.testing.assert_array_equal(y, x)
    np.testing.assert_array_equal(constant, [1])


def test_exact_gelu():
    def function(x):
        return {"y": keras.activations.gelu(x, approximate=False)}

    x = np.linspace(-4, 4, 21, dtype="float32").reshape(1, 7, 3)
    (y,) = load(convert(function, Signature("gelu", (X,), (Y,)))).run(None, {"x": x})
    np.testing.assert_allclose(y, function(x)["y"], atol=2e-6)


def test_where_drops_infinities_that_are_not_chosen():
    def function(x):
        return {"y": tf.where(x > 0, x, tf.zeros_like(x))}

    x = np.array([[[1, -np.inf, 2]]], "float32")
    (y,) = load(convert(function, Signature("where", (X,), (Y,)))).run(None, {"x": x})
    np.testing.assert_array_equal(y, [[[1, 0, 2]]])


def test_a_range_is_the_operator_of_onnx_itself_in_loops_too():
    """tf2onnx writes com.microsoft's, which no other engine knows: `onnx.reference` runs what is written now."""

    def function(n):
        def body(index, total):
            return index + 1, total + tf.reduce_sum(tf.range(0, index, 2))

        _, total = tf.while_loop(lambda index, total: index < tf.reduce_max(n), body, (0, 0))
        return {"m": tf.range(tf.reduce_max(n)) + total}

    inner = TensorSpec("m", "int32", ("time",))
    model = convert(function, Signature("f", (N,), (inner,)))
    assert {node.domain for graph in walk(model.graph) for node in graph.node} == {""}
    n = np.array([5, 3], "int32")
    expected = np.arange(5) + sum(np.arange(0, index, 2).sum() for index in range(5))
    for answer in (load(model).run(None, {"n": n}), ReferenceEvaluator(model).run(None, {"n": n})):
        np.testing.assert_array_equal(answer[0], expected)


@pytest.mark.parametrize("nested", [False, True], ids=["outside", "inside a loop"])
def test_unmapped_operations_are_named(nested, caplog):
    def function(x):
        if nested:
            (y,) = tf.while_loop(lambda x: tf.reduce_sum(x) < 9, lambda x: [tf.math.expm1(x)], [x])
        else:
            y = tf.math.expm1(x)
        return {"y": y + tf.math.erfinv(x)}

    with caplog.at_level(logging.DEBUG), pytest.raises(ConversionError, match="Erfinv.*Expm1"):
        convert(function, Signature("f", (X,), (Y,)))
    assert not [record for record in caplog.records if record.name.startswith("tf2onnx")]


def test_python_inside_the_graph_is_refused():
    def function(x):
        y = tf.numpy_function(lambda x: x, [x], tf.float32)
        return {"y": tf.ensure_shape(y, (None, None, 3))}

    with pytest.raises(ConversionError, match="calls Python"):
        convert(function, Signature("f", (X,), (Y,)))


@pytest.mark.parametrize(
    ("output", "message"),
    [
        (TensorSpec("z", "float32", ("batch", "time", 3)), r"outputs \['z'\], received \['y'\]"),
        (TensorSpec("y", "int32", ("batch", "time", 3)), "expected int32 .* received float32"),
        (TensorSpec("y", "float32", ("batch", 3)), r"expected float32 \('batch', 3\)"),
    ],
    ids=["name", "dtype", "rank"],
)
def test_disagreement_with_the_signature_is_told(output, message):
    with pytest.raises(ConversionError, match=message):
        convert(lambda x: {"y": x}, Signature("f", (X,), (output,)))


def test_tf_function_keeps_no_marker():
    layer = layers.GRU(3, return_sequences=True)
    function = tf.function(lambda x: {"y": layer(x)}, autograph=False)
    model = convert(function, Signature("f", (X,), (Y,)))
    assert "GRU" in {node.op_type for node in model.graph.node}
    spec = tf.TensorSpec((None, None, 3), "float32")
    graph = function.get_concrete_function(spec).graph.as_graph_def()
    nodes = [*graph.node, *(node for body in graph.library.function for node in body.node_def)]
    assert "PyFunc" not in {node.op for node in nodes}


def refusal(function):
    with pytest.raises(ConversionError) as refused:
        convert(function, Signature("layer", (X,), (Y,)))
    return str(refused.value)


def test_an_operation_without_a_form_is_named_with_its_file_and_line_in_a_loop():
    def thrice(x):
        def body(index, y):
            return index + 1, ops.expm1(y)

        return {"y": ops.while_loop(lambda index, y: index < 3, body, (0, x))[1]}

    assert f"received Expm1 ({__file__}:" in refusal(thrice) and "'return index + 1, ops.expm1(y)')" in refusal(thrice)


def test_an_operation_without_a_form_is_named_in_an_installed_package(tmp_path, monkeypatch):
    folder = tmp_path / "lib" / "python3.11" / "site-packages"
    folder.mkdir(parents=True)
    (folder / "zoo_installed.py").write_text("from keras import ops\n\ndef f(x):\n    return ops.expm1(x)\n", "utf-8")
    monkeypatch.syspath_prepend(folder)
    installed = importlib.import_module("zoo_installed")
    assert f"({folder}/zoo_installed.py:4, 'return ops.expm1(x)')" in refusal(lambda x: {"y": installed.f(x)})
