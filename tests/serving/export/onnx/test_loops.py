import numpy as np
import onnx
import pytest
import tensorflow as tf
from onnx import TensorProto, helper, numpy_helper

from serving.export.onnx import loops
from serving.export.onnx.convert import convert, load
from serving.export.onnx.graphs import bodies, captured_names, defined_names, walk
from zoo.core.signatures import Signature, TensorSpec


def loop_of(graph):
    (loop,) = (node for node in graph.node if node.op_type == "Loop")
    return loop, *bodies(loop)


def test_decoder_equals_eager(decoder):
    session = load(decoder.model)
    names = [value.name for value in session.get_outputs()]
    for shape in ((1, 2), (3, 7), (5, 13)):
        inputs = decoder.example(shape)
        received = dict(zip(names, session.run(None, inputs), strict=True))
        for name, expected in decoder.function(**inputs).items():
            np.testing.assert_allclose(received[name], expected, atol=2e-6, err_msg=name)


def test_no_weight_is_a_loop_state_and_every_weight_is_a_constant_of_the_body(decoder):
    loop, body = loop_of(decoder.model.graph)
    states = [value.type.tensor_type.shape.dim for value in body.input[2:]]
    assert len(states) <= 6 - 1  # those of the while loop, less the one it only carries
    constants = {tensor.name: tensor for tensor in body.initializer}
    products = [node for node in body.node if node.op_type in ("MatMul", "Gemm")]
    assert len(products) == 3  # two of the cell, one of the output
    assert all(node.input[1] in constants for node in products)
    outside = {tuple(tensor.dims) for tensor in decoder.model.graph.initializer}
    assert not outside & {(34, 51), (17, 51), (17, 23)}  # cell, recurrent, output


def test_invariant_work_is_outside(decoder):
    _, body = loop_of(decoder.model.graph)
    variant = {value.name for value in body.input}
    outputs = {value.name for value in body.output}
    for node in body.node:
        assert variant.intersection(node.input) or outputs.intersection(node.output), node
        variant.update(node.output)


def test_names_are_unique_in_the_whole_model(decoder):
    names = [name for graph in walk(decoder.model.graph) for name in defined_names(graph)]
    assert len(names) == len(set(names))


def nested(x, n):
    """Two turns of a loop around n turns of a loop; x W depends on neither."""
    weight = tf.constant(np.arange(9, dtype="float32").reshape(3, 3) / 10)

    def outer(step, total):
        def inner(step, total):
            return step + 1, total + tf.matmul(x, weight) * tf.matmul(0.9 * total, weight)

        _, total = tf.while_loop(lambda step, _: step < tf.reduce_max(n), inner, (0, total))
        return step + 1, tf.cond(tf.reduce_sum(total) > 5.0, lambda: total - x, lambda: total)

    _, total = tf.while_loop(lambda step, _: step < 2, outer, (0, tf.ones_like(x)))
    return {"y": total}


def test_nested_loops_and_branches():
    x = TensorSpec("x", "float32", ("batch", 3))
    n, y = TensorSpec("n", "int32", ("batch",)), TensorSpec("y", "float32", ("batch", 3))
    model = convert(nested, Signature("nested", (x, n), (y,)))
    assert len(list(walk(model.graph))) == 5
    _, outer = loop_of(model.graph)
    _, inner = loop_of(outer)
    assert [list(t.dims) for t in inner.initializer] == [[]] and not any(len(t.dims) == 2 for t in outer.initializer)
    products = [node for node in inner.node if node.op_type == "MatMul"]
    assert len(products) == 1  # x W went all the way out
    for rows in (1, 5):
        inputs = {
            "x": np.random.default_rng(rows).normal(size=(rows, 3)).astype("float32"),
            "n": np.arange(rows, dtype="int32"),
        }
        (received,) = load(model).run(None, inputs)
        np.testing.assert_allclose(received, nested(**inputs)["y"], rtol=1e-5)


def value(name, kind=TensorProto.FLOAT, shape=()):
    return helper.make_tensor_value_info(name, kind, shape)


def handmade(body_nodes, body_outputs, graph_outputs):
    """A Loop of three turns: state a starts at x, b at x + 1; one scan output."""
    body = helper.make_graph(
        body_nodes,
        "body",
        [value("step", TensorProto.INT64), value("go", TensorProto.BOOL), value("a"), value("b")],
        [value("go", TensorProto.BOOL), *(value(name) for name in body_outputs)],
    )
    nodes = [
        helper.make_node("Add", ["x", "one"], ["x1"]),
        helper.make_node("Loop", ["turns", "", "x", "x1"], ["end_a", "end_b", "scan"], body=body),
    ]
    constants = [
        numpy_helper.from_array(np.array(3, "int64"), "turns"),
        numpy_helper.from_array(np.array(1, "float32"), "one"),
    ]
    shapes = {"scan": (3,)}
    outputs = [value(name, shape=shapes.get(name, ())) for name in graph_outputs]
    graph = helper.make_graph(nodes, "handmade", [value("x")], outputs, constants)
    opsets = [helper.make_opsetid("", 18)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


ADD = helper.make_node("Add", ["a", "b"], ["sum"])
CASES = {
    "unchanged state is read after the loop": ([ADD], ["a", "sum", "sum"], ["end_a", "end_b"]),
    "unchanged through a copy": (
        [ADD, helper.make_node("Identity", ["a"], ["copy"])],
        ["copy", "sum", "sum"],
        ["end_a", "end_b"],
    ),
    "unchanged state is scanned": ([ADD], ["a", "sum", "a"], ["end_b", "scan"]),
    "unchanged state becomes the other": ([ADD], ["a", "a", "sum"], ["end_b", "scan"]),
    "states change places": ([ADD], ["b", "a", "sum"], ["end_a", "end_b", "scan"]),
    "dead state": ([ADD], ["a", "sum", "a"], ["end_a", "scan"]),
    "dead scan output": ([ADD], ["sum", "b", "sum"], ["end_a", "end_b"]),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_passes_keep_the_results(case):
    model = handmade(*case)
    before = load(model).run(None, {"x": np.array(2, "float32")})
    loops.optimize(model)
    onnx.checker.check_model(model, full_check=True)
    after = load(model).run(None, {"x": np.array(2, "float32")})
    for expected, received in zip(before, after, strict=True):
        np.testing.assert_array_equal(received, expected)


def states(model):
    return len(loop_of(model.graph)[0].input) - 2


def test_dead_and_unchanged_states_are_gone():
    assert states(loops.optimize(handmade(*CASES["unchanged through a copy"]))) == 1
    assert states(loops.optimize(handmade(*CASES["states change places"]))) == 2
    assert states(loops.optimize(handmade(*CASES["dead state"]))) == 0
    loop, body = loop_of(loops.optimize(handmade(*CASES["dead scan output"])).graph)
    assert list(loop.output) == ["end_a"]
    assert "x1" in captured_names(body)


def test_a_name_used_inside_and_outside_means_two_values():
    shadow = helper.make_node("Add", ["a", "one"], ["x1"])
    model = loops.optimize(handmade([shadow], ["x1", "b", "x1"], ["end_a", "end_b", "scan"]))
    end_a, end_b, scan = load(model).run(None, {"x": np.array(2, "float32")})
    assert (end_a, end_b, scan.tolist()) == (5, 3, [3, 4, 5])


def test_random_nodes_stay_in_their_loop():
    random = helper.make_node("RandomNormal", [], ["noise"], shape=[1])
    add = helper.make_node("Add", ["a", "noise"], ["noisy"])
    case = [random, add], ["noisy", "b", "noisy"], ["scan"]
    _, body = loop_of(loops.optimize(handmade(*case)).graph)
    assert "RandomNormal" in {node.op_type for node in body.node}


def test_of_a_branch_what_is_harmless_goes_out_of_the_loop():
    """The comparison and the sum depend on x alone; a division could fail, and stays with what depends on the loop."""
    make = helper.make_node
    then = [make("Add", ["x", "x1"], ["more"]), make("Div", ["x", "x1"], ["part"]), make("Mul", ["more", "a"], ["own"])]
    then = helper.make_graph([*then, make("Add", ["own", "part"], ["yes"])], "then", [], [value("yes")])
    orelse = helper.make_graph([make("Identity", ["a"], ["no"])], "else", [], [value("no")])
    nodes = [
        make("Greater", ["a", "b"], ["asked"]),
        make("If", ["asked"], ["either"], then_branch=then, else_branch=orelse),
    ]
    case = nodes, ["either", "a", "either"], ["end_a", "scan"]
    expected = load(handmade(*case)).run(None, {"x": np.array(2, "float32")})
    model = loops.optimize(handmade(*case))
    for one, other in zip(load(model).run(None, {"x": np.array(2, "float32")}), expected, strict=True):
        np.testing.assert_array_equal(one, other)
    _, body = loop_of(model.graph)
    (either,) = (node for node in body.node if node.op_type == "If")
    left = [sorted(node.op_type for node in branch.node) for branch in bodies(either)]
    assert ["Add", "Div", "Mul"] in left and sum(node.op_type == "Add" for node in model.graph.node) == 2


@pytest.mark.parametrize("outer_reads", [False, True])
def test_a_transposed_matrix_stands_around_the_inner_loop(outer_reads):
    """Where onnxruntime prepacks it; one that the outer loop reads itself stays outside."""
    weight = tf.constant(np.random.default_rng(0).normal(0, 0.1, (64, 64)).astype("float32"))

    def turned(x, n):
        def outer(step, total):
            def inner(step, total):
                return step + 1, 0.5 * tf.matmul(total, weight, transpose_b=True)

            total = tf.while_loop(lambda step, _: step < n, inner, (0, total))[1]
            return step + 1, total + tf.matmul(total, weight, transpose_b=True) if outer_reads else total

        return {"y": tf.while_loop(lambda step, _: step < 2, outer, (0, tf.matmul(x, weight)))[1]}

    inputs = TensorSpec("x", "float32", ("batch", 64)), TensorSpec("n", "int32", ())
    model = convert(turned, Signature("f", inputs, (TensorSpec("y", "float32", ("batch", 64)),)))
    values = {"x": np.ones((2, 64), "float32"), "n": np.array(3, "int32")}
    expected = turned(tf.constant(values["x"]), 3)["y"]
    np.testing.assert_allclose(load(model).run(None, values)[0], expected, rtol=1e-4, atol=1e-6)
    _, around = loop_of(model.graph)
    (home,) = (graph for graph in walk(model.graph) if any(node.op_type == "Transpose" for node in graph.node))
    assert home is (model.graph if outer_reads else around)
