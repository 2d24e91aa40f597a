"""What tf2onnx is given of a traced function: its graph without the weights, and loops and branches with shapes.

tf2onnx and TensorFlow's optimiser copy a graph dozens of times; with the weights inside, this would be most of the time
of a conversion, and a graph of more than 2 GB cannot be copied at all. So `freeze` replaces the weights by inputs, and
`restore` makes initializers of the ONNX model of them.

tf2onnx reads the functions of a graph in the order in which TensorFlow holds them, and knows the shapes of what a
function is given only if the function that calls it was read before. Of a loop inside a loop it then knows the shapes
of the weights or not, as the names happen to be sorted, and operations that need one cannot be converted. Besides, it
takes the condition of an If for the first argument of its branches. `resolve_functions` gives the bodies of loops and
conditions as graphs of their own, with the shapes that they are called with.
"""

from graphlib import TopologicalSorter
from unittest.mock import patch

import numpy as np
import tensorflow as tf
from tensorflow.core.framework.function_pb2 import FunctionDef
from tensorflow.python.framework import convert_to_constants as constants
from tensorflow.python.framework.function_def_to_graph import function_def_to_graph
from tf2onnx import tf_loader

from serving.export.onnx.weights import INSIDE

LARGE = 1024  # bytes; smaller float constants stay in the graph
UNKNOWN = tf.TensorShape(None).as_proto()
BRANCHING = {"If", "StatelessIf", "Case", "StatelessCase"}  # whose first input chooses a function
LOOPS = {"While", "StatelessWhile"}  # what they are given may grow: what they give back says which lengths stay


class _Variables(constants._FunctionConverterDataInEager):
    """The values of the variables, which are not copied."""

    def _eval(self, tensor):
        return np.asarray(tensor.value() if isinstance(tensor, tf.Variable) else tensor)


def freeze(concrete, inputs, outputs):
    """`(graph_def, {tensor name: array})` of a concrete function, in which large constants have become placeholders.

    Args:
        concrete: a `ConcreteFunction`.
        inputs, outputs: names of its tensors.
    """
    # The first part of `convert_variables_to_constants_v2`, which would then wrap the graph with its weights again.
    data = _Variables(concrete, lower_control_flow=False, aggressive_inlining=True)
    variables = {name: each.numpy for name, each in data.tensor_data.items()}
    with patch.object(constants.tensor_util, "make_tensor_proto", _without_large_values):
        graph_def, _ = constants._replace_variables_by_constants(data)
    weights = {f"{node.name}:0": _take(node, variables) for node in graph_def.node if _is_weight(node)}
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_def, name="")
        graph_def = tf_loader.fix_freezing_errors_part2(graph.as_graph_def(add_shapes=True))
        return tf_loader.tf_optimize([*inputs, *weights], list(outputs), graph_def), weights


def restore(model, values, weights=INSIDE):
    """Turn the inputs that `freeze` added into initializers of the ONNX model, whose arrays will be in `weights`."""
    inputs = [value for value in model.graph.input if value.name not in values]
    del model.graph.input[:]
    model.graph.input.extend(inputs)
    model.graph.initializer.extend(weights.tensor(value, name) for name, value in values.items())


def _without_large_values(values, dtype=None, shape=None, make=constants.tensor_util.make_tensor_proto, **more):
    """`make_tensor_proto`, of a weight with its type and shape alone."""
    if not isinstance(values, np.ndarray) or values.dtype != np.float32 or values.nbytes < LARGE:
        return make(values, dtype, shape, **more)
    return make(np.zeros(1, np.float32), dtype, values.shape, **more)  # one value stands for as many as the shape has


def _is_weight(node):
    if node.op != "Const" or node.attr["dtype"].type != tf.float32.as_datatype_enum:
        return False
    return tf.TensorShape(node.attr["value"].tensor.tensor_shape).num_elements() * 4 >= LARGE


def _take(node, variables):
    """Turn a constant node into a placeholder and return its value."""
    tensor = node.attr["value"].tensor
    value, shape = variables.get(node.name), tf.TensorShape(tensor.tensor_shape)
    if value is None:
        value = tf.make_ndarray(tensor)
    node.op = "Placeholder"
    del node.attr["value"]
    node.attr["shape"].shape.CopyFrom(shape.as_proto())
    return value


def resolve_functions(graph):
    """The functions that a graph calls, those that others call first; tf2onnx finds them by their names, too."""
    functions, waiting, bodies, calls = graph._functions, list(_find_called(graph).items()), {}, {}
    while waiting:
        name, shapes = waiting.pop()
        if name in bodies:
            continue
        bodies[name] = _body(functions[name].definition, shapes)
        tf_loader.set_function(name, bodies[name])
        inner = _find_called(bodies[name])
        calls[name] = inner.keys()
        waiting += inner.items()
    return [bodies[name] for name in TopologicalSorter(calls).static_order()]


def _body(definition, shapes):
    """The graph of a function; where it says of an argument that nothing is known of its shape, the caller's counts."""
    definition = FunctionDef.FromString(definition.SerializeToString())
    for argument in definition.arg_attr.values():
        if argument.attr["_output_shapes"].list.shape[:1] in ([], [UNKNOWN]):
            del argument.attr["_output_shapes"]
    return function_def_to_graph(definition, input_shapes=shapes)


def _find_called(graph):
    """`{name of a function: the shapes of its arguments}` of those that a graph calls."""
    functions = {}
    for operation in graph.get_operations():
        tensors = operation.outputs if operation.type in LOOPS else operation.inputs[operation.type in BRANCHING :]
        shapes = [tensor.shape for tensor in tensors]
        for value in operation.node_def.attr.values():
            called = [*value.list.func, *([value.func] if value.HasField("func") else [])]
            functions |= {each.name: shapes for each in called}
    return functions
