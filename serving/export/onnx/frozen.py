"""Takes the weights out of a traced function before its conversion, and puts them back afterwards.

tf2onnx and TensorFlow's optimiser copy a graph dozens of times; with the weights inside, this would be most of the time
of a conversion. So `freeze` replaces the weights by inputs, and `restore` adds them to the ONNX model as initializers.
"""

import tensorflow as tf
from onnx import numpy_helper
from tensorflow.python.framework import convert_to_constants as constants
from tf2onnx import tf_loader

LARGE = 1024  # bytes; smaller float constants stay in the graph


def freeze(concrete, inputs, outputs):
    """`(graph_def, {tensor name: array})` of a concrete function, in which large constants have become placeholders.

    Args:
        concrete: a `ConcreteFunction`.
        inputs, outputs: names of its tensors.
    """
    # The first part of `convert_variables_to_constants_v2`, which would then wrap the graph with its weights again.
    data = constants._FunctionConverterDataInEager(concrete, lower_control_flow=False, aggressive_inlining=True)
    graph_def, _ = constants._replace_variables_by_constants(data)
    weights = {f"{node.name}:0": _take(node) for node in graph_def.node if _is_weight(node)}
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_def, name="")
        graph_def = tf_loader.fix_freezing_errors_part2(graph.as_graph_def(add_shapes=True))
        return tf_loader.tf_optimize([*inputs, *weights], list(outputs), graph_def), weights


def restore(model, weights):
    """Turn the inputs that `freeze` added into initializers of the ONNX model."""
    kept = [value for value in model.graph.input if value.name not in weights]
    del model.graph.input[:]
    model.graph.input.extend(kept)
    model.graph.initializer.extend(numpy_helper.from_array(value, name) for name, value in weights.items())


def _is_weight(node):
    if node.op != "Const" or node.attr["dtype"].type != tf.float32.as_datatype_enum:
        return False
    return tf.TensorShape(node.attr["value"].tensor.tensor_shape).num_elements() * 4 >= LARGE


def _take(node):
    """Turn a constant node into a placeholder and return its value."""
    tensor = node.attr["value"].tensor
    value, shape = tf.make_ndarray(tensor), tf.TensorShape(tensor.tensor_shape)
    node.op = "Placeholder"
    del node.attr["value"]
    node.attr["shape"].shape.CopyFrom(shape.as_proto())
    return value
