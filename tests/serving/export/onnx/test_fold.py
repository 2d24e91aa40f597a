import numpy as np
from onnx import TensorProto, helper, numpy_helper

from serving.export.onnx.fold import SMALL, fold_constants


def graph_of(*nodes, **constants):
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    tensors = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    return helper.make_graph(nodes, "graph", [], [y], tensors)


def test_a_chain_of_constants_becomes_one():
    weight = np.arange(6, dtype="float32").reshape(2, 3)
    graph = graph_of(
        helper.make_node("Transpose", ["weight"], ["turned"]),
        helper.make_node("Split", ["turned"], ["upper", "lower"], axis=1, num_outputs=2),
        helper.make_node("Add", ["upper", "lower"], ["sum"]),
        helper.make_node("Identity", ["sum"], ["y"]),
        weight=weight,
    )
    fold_constants(graph, 18)
    assert [node.op_type for node in graph.node] == ["Identity"]
    values = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    np.testing.assert_array_equal(values["sum"], weight.T[:, :1] + weight.T[:, 1:])


def test_a_weight_is_not_doubled_unless_asked():
    weight = np.zeros((33, 37), "float32")
    turn = helper.make_node("Transpose", ["weight"], ["turned"])
    graph = graph_of(turn, helper.make_node("Sum", ["x", "weight", "turned"], ["y"]), weight=weight)
    fold_constants(graph, 18)
    assert [node.op_type for node in graph.node] == ["Transpose", "Sum"]
    fold_constants(graph, 18, whatever_it_costs=("Transpose",))
    assert [node.op_type for node in graph.node] == ["Sum"]


def test_what_would_swell_the_file_or_is_random_stays():
    graph = graph_of(
        helper.make_node("Expand", ["one", "large"], ["expanded"]),
        helper.make_node("RandomNormalLike", ["one"], ["noise"]),
        helper.make_node("Add", ["expanded", "noise"], ["y"]),
        one=np.ones(1, "float32"),
        large=np.array([SMALL], "int64"),
    )
    fold_constants(graph, 18)
    assert [node.op_type for node in graph.node] == ["Expand", "RandomNormalLike", "Add"]
