"""What is equal is merged, constants are folded, several nodes become one, and what only looks like it stays."""

import numpy as np
import pytest
from keras import ops
from onnx import TensorProto, helper, numpy_helper
from onnx.helper import make_node, make_tensor_value_info
from onnx.reference import ReferenceEvaluator

from serving.export.onnx.convert import convert, load
from serving.export.onnx.simplify import GROWTH, SMALL, fold_constants, merge_duplicates, shorten
from zoo.core.signatures import Signature, TensorSpec
from zoo.core.tensors import gather_beams

X = TensorSpec("x", "float32", ("batch", 5))
VALUES = np.random.default_rng(0).normal(size=(3, 5)).astype("float32")


def graph_of(nodes, constants=(), inputs=(), outputs=("y",)):
    ends = [[make_tensor_value_info(name, TensorProto.FLOAT, None) for name in names] for names in (inputs, outputs)]
    tensors = [numpy_helper.from_array(np.array(value), name) for name, value in dict(constants).items()]
    return helper.make_graph(nodes, "graph", *ends, tensors)


def add(x, y, out):
    return make_node("Add", [x, y], [out])


def test_equal_constants_make_nodes_equal():
    one = np.ones(1, "float32")
    nodes = [add("x", "a", "p"), add("x", "b", "q"), add("p", "q", "y")]
    graph = graph_of(nodes, {"a": one, "b": one, "c": one.astype("int32")})
    merge_duplicates(graph)
    assert [tensor.name for tensor in graph.initializer] == ["a"]
    assert [list(node.input) for node in graph.node] == [["x", "a"], ["p", "p"]]


def test_what_differs_stays():
    large = np.zeros(SMALL, "float32")
    nodes = [
        add("x", "a", "p"),
        add("a", "x", "q"),
        add("x", "b", "r"),
        make_node("RandomNormalLike", ["x"], ["s"]),
        make_node("RandomNormalLike", ["x"], ["t"]),
        make_node("ReduceSum", ["x"], ["u"], keepdims=0),
        make_node("ReduceSum", ["x"], ["v"], keepdims=1),
        make_node("Sum", list("pqrstuv"), ["y"]),
    ]
    graph = graph_of(nodes, {"a": large, "b": large})
    merge_duplicates(graph)
    assert len(graph.node) == len(nodes) and len(graph.initializer) == 2


def test_an_output_keeps_its_name():
    graph = graph_of([add("x", "x", "y"), add("x", "x", "z"), add("z", "z", "w")], outputs=("y", "z", "w"))
    merge_duplicates(graph)
    assert {name for node in graph.node for name in node.output} == {"y", "z", "w"}


def test_a_body_uses_what_is_outside_but_lends_nothing():
    def branch(name):
        return graph_of([add("x", "x", f"{name}1"), add(f"{name}1", "x", f"{name}2")], outputs=(f"{name}2",))

    choice = make_node("If", ["c"], ["y"], then_branch=branch("a"), else_branch=branch("b"))
    graph = graph_of([add("x", "x", "outside"), choice])
    merge_duplicates(graph)
    for attribute in graph.node[1].attribute:
        assert [list(node.input) for node in attribute.g.node] == [["outside", "x"]]


def test_a_chain_of_constants_becomes_one():
    weight = np.arange(6, dtype="float32").reshape(2, 3)
    nodes = [
        make_node("Transpose", ["weight"], ["turned"]),
        make_node("Split", ["turned"], ["upper", "lower"], axis=1, num_outputs=2),
        add("upper", "lower", "sum"),
        make_node("Identity", ["sum"], ["y"]),
    ]
    graph = graph_of(nodes, {"weight": weight})
    fold_constants(graph, 18)
    assert [node.op_type for node in graph.node] == ["Identity"]
    values = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    np.testing.assert_array_equal(values["sum"], weight.T[:, :1] + weight.T[:, 1:])


def test_a_weight_is_not_doubled_unless_asked():
    weight = np.zeros((33, 37), "float32")
    turn = make_node("Transpose", ["weight"], ["turned"])
    graph = graph_of([turn, make_node("Sum", ["x", "weight", "turned"], ["y"])], {"weight": weight})
    fold_constants(graph, 18)
    assert [node.op_type for node in graph.node] == ["Transpose", "Sum"]
    fold_constants(graph, 18, whatever_it_costs=("Transpose",))
    assert [node.op_type for node in graph.node] == ["Sum"]


def test_what_would_swell_the_file_or_is_random_stays():
    nodes = [
        make_node("Expand", ["one", "large"], ["expanded"]),
        make_node("RandomNormalLike", ["one"], ["noise"]),
        add("expanded", "noise", "y"),
    ]
    graph = graph_of(nodes, {"one": np.ones(1, "float32"), "large": [GROWTH]})
    fold_constants(graph, 18)
    assert [node.op_type for node in graph.node] == ["Expand", "RandomNormalLike", "Add"]


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


CUT = make_node("Slice", ["x", "s", "e", "a", "steps"], ["p"])
OUT = make_node("Identity", ["p"], ["y"])
LOOKALIKES = {
    "a part": ([CUT, OUT], {"s": [0], "e": [2], "a": [1], "steps": [1]}),
    "every second": ([CUT, OUT], {"s": [0], "e": [10**9], "a": [1], "steps": [2]}),
    "from the second on": ([CUT, OUT], {"s": [1], "e": [10**9], "a": [0], "steps": [1]}),
    "one row of the rest": (
        [CUT, make_node("Squeeze", ["p", "axis"], ["y"])],
        {"s": [1, 2], "e": [3, 3], "a": [0, 1], "steps": [1, 1], "axis": [1]},
    ),
    "an output": ([make_node("Slice", ["x", "s", "e", "a"], ["y"])], {"s": [0], "e": [10**9], "a": [1]}),
}


@pytest.mark.parametrize("name", LOOKALIKES)
def test_what_only_looks_like_it_stays(name):
    graph = graph_of(*LOOKALIKES[name], inputs="x")
    before = [node.SerializeToString() for node in graph.node]
    shorten(graph)
    assert [node.SerializeToString() for node in graph.node] == before


def test_a_double_negation_is_none_in_a_branch_too():
    branch = graph_of([make_node("Not", [x], [y]) for x, y in ("xp", "pq")] + [make_node("Identity", ["q"], ["y"])])
    branch.output[0].type.tensor_type.elem_type = TensorProto.BOOL
    condition = make_tensor_value_info("c", TensorProto.BOOL, [])
    node = make_node("If", ["c"], ["z"], then_branch=branch, else_branch=branch)
    x, z = (make_tensor_value_info(name, TensorProto.BOOL, [3, 5]) for name in "xz")
    graph = helper.make_graph([node], "g", [condition, x], [z])
    shorten(graph)
    values = {"c": np.array(True), "x": VALUES > 0}
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    np.testing.assert_array_equal(ReferenceEvaluator(model).run(None, values)[0], VALUES > 0)
    inner = helper.get_attribute_value(graph.node[0].attribute[0])
    assert inner.node[-1].input[0] == "x"
