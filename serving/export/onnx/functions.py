"""The bodies of loops and conditions as graphs of their own, with the shapes that they are called with.

tf2onnx reads the functions of a graph in the order in which TensorFlow holds them, and knows the shapes of what a
function is given only if the function that calls it was read before. Of a loop inside a loop it then knows the shapes
of the weights or not, as the names happen to be sorted, and operations that need one cannot be converted. Besides, it
takes the condition of an If for the first argument of its branches.
"""

from graphlib import TopologicalSorter

import tensorflow as tf
from tensorflow.core.framework.function_pb2 import FunctionDef
from tensorflow.python.framework.function_def_to_graph import function_def_to_graph
from tf2onnx.tf_loader import set_function

UNKNOWN = tf.TensorShape(None).as_proto()
BRANCHING = {"If", "StatelessIf", "Case", "StatelessCase"}  # whose first input chooses a function
LOOPS = {"While", "StatelessWhile"}  # what they are given may grow: what they give back says which lengths stay


def resolve_functions(graph):
    """The functions that a graph calls, those that others call first; tf2onnx finds them by their names, too."""
    functions, waiting, bodies, calls = graph._functions, list(_find_called(graph).items()), {}, {}
    while waiting:
        name, shapes = waiting.pop()
        if name in bodies:
            continue
        bodies[name] = _body(functions[name].definition, shapes)
        set_function(name, bodies[name])
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
