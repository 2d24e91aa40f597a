"""Marker operations: a TensorFlow operation that stands for exactly one ONNX node.

`onnx_op` adds a `PyFunc` to the graph whose token holds the ONNX node as JSON. The `PyFunc` is never run: at the
conversion, `emit` replaces it by this node. Nothing has to be compiled or registered, weights become initializers
as usual, and it works inside the bodies of `tf.while_loop`. A graph with markers can only be converted, so they are
emitted under a context manager that `convert` enters.
"""

import json

import tensorflow as tf

PREFIX = "onnx_marker:"


def onnx_op(op_type, inputs, dtypes, shapes, domain="", **attrs):
    """Add a marker for one ONNX node to the graph.

    Args:
        op_type: name of the ONNX operator, such as `"GRU"`.
        inputs: tensors in the order of ONNX; `None` leaves out an optional input. At least one must depend on an input
            of the graph, because otherwise tf2onnx tries to fold the node.
        dtypes: dtype of each output.
        shapes: static shape of each output, with `None` for a dynamic axis.
        domain: operator domain, `""` for ONNX itself.
        **attrs: attributes of the node: numbers, strings or lists of these.

    Returns: the list of output tensors.
    """
    node = {
        "op_type": op_type,
        "domain": domain,
        "absent": [index for index, tensor in enumerate(inputs) if tensor is None],
        "shapes": [[-1 if size is None else size for size in shape] for shape in shapes],
        "attrs": attrs,
    }
    outputs = tf.raw_ops.PyFunc(
        input=[tensor for tensor in inputs if tensor is not None],
        token=PREFIX + json.dumps(node),
        Tout=[tf.as_dtype(dtype) for dtype in dtypes],
    )
    return [tf.ensure_shape(output, shape) for output, shape in zip(outputs, shapes, strict=True)]


def emit(context, node, name, args):
    """A tf2onnx handler: replaces a marker by the node that its token describes."""
    token = node.get_attr_value("token").decode()
    if not token.startswith(PREFIX):
        raise ValueError(
            f"The graph calls Python: PyFunc {name!r} cannot be exported. Expected TensorFlow "
            "operations only; replace tf.py_function and tf.numpy_function by such operations."
        )
    spec = json.loads(token.removeprefix(PREFIX))
    inputs = list(node.input)
    for index in spec["absent"]:
        inputs.insert(index, "")
    dtypes = [context.get_dtype(output) for output in node.output]
    context.remove_node(node.name)
    context.make_node(
        spec["op_type"],
        inputs,
        attr=spec["attrs"],
        outputs=node.output,
        name=node.name,
        shapes=spec["shapes"],
        dtypes=dtypes,
        domain=spec["domain"],
    )
