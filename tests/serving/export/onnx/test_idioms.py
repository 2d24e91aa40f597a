"""What tf2onnx writes in several nodes becomes one, and what only looks like it stays."""

import numpy as np
import onnx
import pytest
from keras import ops
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from serving.export.onnx.idioms import shorten

from serving.export.onnx.convert import convert, load
from zoo.core.signatures import Signature, TensorSpec
from zoo.core.tensors import gather_beams

X = TensorSpec("x", "float32", ("batch", 5))
VALUES = np.random.default_rng(0).normal(size=(3, 5)).astype("float32")


def converted(function, shape, dtype="float32"):
    """The operators of the function's graph, whose numbers are compared with those of Keras."""
    model = convert(lambda x: {"y": function(x)}, Signature("f", (X,), (TensorSpec("y", dtype, shape),)))
    (found,) = load(model).run(None, {"x": VALUES})
    np.testing.assert_array_equal(found, function(VALUES))
    return [node.op_type for node in model.graph.node]


def test_a_new_axis_is_one_node():
    assert converted(lambda x: 2.0 * x[:, :, None], ("batch", 5, 1)) == ["Unsqueeze", "Mul"]


@pytest.mark.parametrize("place", [0, 3, -1])
def test_one_place_is_one_node(place):
    assert converted(lambda x: x[:, place], ("batch",)) == ["Gather"]


def test_a_remainder_of_whole_numbers_is_one_node():
    found = converted(lambda x: ops.cast(10 * x, "int32") % 7, ("batch", 5), "int32")
    assert found == ["Mul", "Cast", "Mod", "Cast"]
    assert "Mod" not in converted(lambda x: x % 0.75, ("batch", 5))


def test_places_of_the_best_stay_in_64_bits():
    def best(x):
        return gather_beams(x, ops.cast(ops.top_k(x, 2)[1], "int32"))

    assert converted(best, ("batch", 2)) == ["TopK", "GatherElements"]

    def rows(x):
        return gather_beams(x[:, :, None] * np.ones(3, "float32"), ops.cast(ops.top_k(x, 2)[1], "int32"))

    found = converted(rows, ("batch", 2, 3))
    assert "GatherND" in found and "Cast" not in found


def graph_of(nodes, constants, kind):
    x = helper.make_tensor_value_info("x", kind, [3, 5])
    y = helper.make_tensor_value_info("y", TensorProto.UNDEFINED, None)
    tensors = [numpy_helper.from_array(np.array(value, "int64"), name) for name, value in constants.items()]
    return helper.make_graph([helper.make_node(*each[:3], **dict(each[3:])) for each in nodes], "g", [x], [y], tensors)


CUT = ("Slice", ["x", "s", "e", "a", "steps"], ["p"])
OUT = ("Identity", ["p"], ["y"])
LOOKALIKES = {
    "a part": ([CUT, OUT], {"s": [0], "e": [2], "a": [1], "steps": [1]}),
    "every second": ([CUT, OUT], {"s": [0], "e": [10**9], "a": [1], "steps": [2]}),
    "from the second on": ([CUT, OUT], {"s": [1], "e": [10**9], "a": [0], "steps": [1]}),
    "one row of the rest": (
        [CUT, ("Squeeze", ["p", "axis"], ["y"])],
        {"s": [1, 2], "e": [3, 3], "a": [0, 1], "steps": [1, 1], "axis": [1]},
    ),
    "an output": ([("Slice", ["x", "s", "e", "a"], ["y"])], {"s": [0], "e": [10**9], "a": [1]}),
}


@pytest.mark.parametrize("name", LOOKALIKES)
def test_what_only_looks_like_it_stays(name):
    graph = graph_of(*LOOKALIKES[name], TensorProto.FLOAT)
    before = [node.SerializeToString() for node in graph.node]
    shorten(graph)
    assert [node.SerializeToString() for node in graph.node] == before


def test_a_double_negation_is_none_in_a_branch_too():
    branch = graph_of([("Not", ["x"], ["p"]), ("Not", ["p"], ["q"]), ("Identity", ["q"], ["y"])], {}, TensorProto.BOOL)
    del branch.input[:]
    condition = helper.make_tensor_value_info("c", TensorProto.BOOL, [])
    node = helper.make_node("If", ["c"], ["z"], then_branch=branch, else_branch=branch)
    x, z = (helper.make_tensor_value_info(name, TensorProto.BOOL, [3, 5]) for name in "xz")
    graph = helper.make_graph([node], "g", [condition, x], [z])
    shorten(graph)
    values = {"c": np.array(True), "x": VALUES > 0}
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    np.testing.assert_array_equal(ReferenceEvaluator(model).run(None, values)[0], VALUES > 0)
    inner = onnx.helper.get_attribute_value(graph.node[0].attribute[0])
    assert inner.node[-1].input[0] == "x"
