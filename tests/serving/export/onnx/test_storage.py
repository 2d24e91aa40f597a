"""Initializers in 16 and in 8 bits: the same answers, bit for bit, and nothing more to do while a graph runs."""

from collections import Counter

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from serving.export.onnx.convert import load
from serving.export.onnx.graphs import bodies, requirements, walk
from serving.export.onnx.quantize import quantize
from serving.export.onnx.ranges import observe
from serving.export.storage import LEAST, narrow, round_nearest
from serving.runtime.sessions import session_options


def tensors(model):
    return [tensor for graph in walk(model.graph) for tensor in graph.initializer]


def weights(model):
    """The float32 initializers that are large enough."""
    return [
        tensor
        for tensor in tensors(model)
        if tensor.data_type == TensorProto.FLOAT and numpy_helper.to_array(tensor).nbytes >= LEAST
    ]


def rounded(model, storage):
    """The model with weights that this storage has."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    for tensor in weights(model):
        tensor.CopyFrom(numpy_helper.from_array(round_nearest(numpy_helper.to_array(tensor), storage), tensor.name))
    return model


@pytest.fixture(scope="module", params=["float16", "int8"])
def storage(request):
    return request.param


@pytest.fixture(scope="module")
def exact(decoder, storage):
    return rounded(decoder.model, storage)


def optimised(model, path):
    """The kinds of nodes that ONNX Runtime runs, for each graph, the outermost first."""
    options = session_options(1)
    options.log_severity_level, options.optimized_model_filepath = 4, str(path)
    onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return [Counter(node.op_type for node in graph.node) for graph in walk(onnx.load(path).graph)]


@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_answers_are_the_same_and_nothing_is_cast_at_run_time(precision, exact, storage, decoder, tmp_path):
    model = quantize(exact, observe(exact, [decoder.example((5, 13))])) if precision == "int8" else exact
    before = model.SerializeToString()
    small = narrow(model, storage)
    assert model.SerializeToString() == before
    steps = {tensor.name for tensor in tensors(small) if tensor.name.endswith("/steps")}
    assert weights(model) and {tensor.name for tensor in weights(small)} <= steps
    for inputs in map(decoder.example, ((1, 2), (5, 13))):
        expected, received = (load(each).run(None, inputs) for each in (model, small))
        assert [value.tobytes() for value in received] == [value.tobytes() for value in expected]
    nodes = optimised(small, tmp_path / "small.onnx")
    assert len(nodes) > 1 and nodes == optimised(model, tmp_path / "whole.onnx")
    assert requirements(small) == requirements(model)


def test_casts_stand_where_their_weights_do(decoder):
    exact = rounded(decoder.model, "float16")
    small = narrow(exact, "float16")
    saved = sum(numpy_helper.to_array(tensor).nbytes / 2 for tensor in weights(exact))
    assert small.ByteSize() < exact.ByteSize() - 0.8 * saved
    (loop,) = (node for node in small.graph.node if node.op_type == "Loop")
    for graph in (small.graph, *bodies(loop)):
        own = {tensor.name for tensor in graph.initializer if tensor.data_type == TensorProto.FLOAT16}
        assert own and own == {node.input[0] for node in graph.node if node.name.endswith("/Cast")} & own
        first = [node.op_type for node in graph.node[: len(own)]]
        assert first == ["Cast"] * len(own)


def test_a_matrix_of_bytes_has_a_quarter_of_the_size(decoder):
    exact = rounded(decoder.model, "int8")
    small = narrow(exact, "int8")
    matrices = [tensor for tensor in weights(exact) if numpy_helper.to_array(tensor).ndim > 1]
    assert len(matrices) == sum(tensor.data_type == TensorProto.INT8 for tensor in tensors(small))
    saved = sum(numpy_helper.to_array(tensor).nbytes * 3 / 4 for tensor in matrices)
    assert small.ByteSize() < exact.ByteSize() - 0.7 * saved  # the nodes and the powers of two of a small model
    assert narrow(exact, "float16").ByteSize() > small.ByteSize() + 0.05 * saved


def test_what_bytes_cannot_hold_is_narrowed_to_float16_or_stays():
    random = np.random.default_rng(0)
    held = {"x16": random.normal(size=(16, 16)).astype("float16").astype("float32")}
    held |= {"x32": random.normal(size=(16, 16)).astype("float32")}
    held |= {"x8": (random.integers(-127, 128, (16, 16)) * 2.0 ** random.integers(-9, 0, 16)).astype("float32")}
    graph = onnx.parser.parse_graph(
        "f (float[16, 16] x) => (float[16, 16] z) { a = Add(x, x8)  b = Add(a, x16)  z = Add(b, x32) }"
    )
    graph.initializer.extend(numpy_helper.from_array(value, name) for name, value in held.items())
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    small = narrow(model, "int8")
    assert {tensor.name for tensor in tensors(small)} == {"x8/int8", "x8/steps", "x16/float16", "x32"}
    x = {"x": random.normal(size=(16, 16)).astype("float32")}
    assert np.array_equal(*(load(each).run(None, x)[0] for each in (model, small)))


def test_only_large_and_exact_floats_are_halved():
    random, count = np.random.default_rng(0), LEAST // 4
    exact = random.normal(size=count).astype("float16").astype("float32")
    held = {
        "exact": exact,
        "short": exact[1:],
        "inexact": np.where(np.arange(count) == 3, np.float32(0.1), exact),
        "large": np.full(count, 1e6, "float32"),
        "missing": np.full(count, np.inf, "float32"),
        "double": exact.astype("float64"),
        "y": exact,
    }
    graph = onnx.parser.parse_graph(
        f"f (float[{count}] x) => (float[{count}] z, float[{count}] y) {{ z = Add(x, exact) }}"
    )
    graph.initializer.extend(numpy_helper.from_array(value, name) for name, value in held.items())
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    found = {tensor.name for tensor in narrow(model, "float16").graph.initializer}
    assert found == held.keys() - {"exact", "missing"} | {"exact/float16", "missing/float16"}


def test_twice_is_as_once(exact, storage):
    once = narrow(exact, storage)
    assert narrow(once, storage).SerializeToString() == once.SerializeToString()
