import numpy as np
from onnx import TensorProto, helper, numpy_helper

from serving.export.onnx.duplicates import SMALL, merge_duplicates


def graph_of(nodes, constants=(), outputs=("y",)):
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    tensors = [numpy_helper.from_array(array, name) for name, array in dict(constants).items()]
    return helper.make_graph(nodes, "graph", [], values, tensors)


def add(x, y, out):
    return helper.make_node("Add", [x, y], [out])


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
        helper.make_node("RandomNormalLike", ["x"], ["s"]),
        helper.make_node("RandomNormalLike", ["x"], ["t"]),
        helper.make_node("ReduceSum", ["x"], ["u"], keepdims=0),
        helper.make_node("ReduceSum", ["x"], ["v"], keepdims=1),
        helper.make_node("Sum", list("pqrstuv"), ["y"]),
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

    choice = helper.make_node("If", ["c"], ["y"], then_branch=branch("a"), else_branch=branch("b"))
    graph = graph_of([add("x", "x", "outside"), choice])
    merge_duplicates(graph)
    for attribute in graph.node[1].attribute:
        assert [list(node.input) for node in attribute.g.node] == [["outside", "x"]]
