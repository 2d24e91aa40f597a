"""Takes the weights out of a traced function before its conversion, and puts them back afterwards.

tf2onnx and TensorFlow's optimiser copy a graph dozens of times; with the weights inside, this would be most of the time
of a conversion, and a graph of more than 2 GB cannot be copied at all. So `freeze` replaces the weights by inputs, and
`restore` makes initializers of the ONNX model of them.
"""

from unittest.mock import patch

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import convert_to_constants as constants
from tf2onnx import tf_loader

from serving.export.onnx.weights import INSIDE

LARGE = 1024  # bytes; smaller float constants stay in the graph


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
