"""Marker operations: say in a TensorFlow trace exactly which ONNX node it shall become.

`onnx_op` puts a `PyFunc` into the graph whose token carries the ONNX node as JSON. It is never run:
tf2onnx meets it and `HANDLERS` turns it into that one node. Nothing has to be compiled or
registered, weights fold into initializers as usual, and it works inside `tf.while_loop` bodies. A
graph with a marker is good for conversion only, so markers are emitted under a context manager that
`convert` opens.
"""

import json

import tensorflow as tf

PREFIX = "onnx_marker:"


def onnx_op(op_type, inputs, dtypes, shapes, domain="", **attrs):
    """Emit one ONNX node.

    Args:
        op_type: name of the ONNX operator, such as `"GRU"`.
        inputs: tensors in ONNX order; `None` leaves an optional input out. One at least must depend
            on an input of the graph, else tf2onnx tries to fold the node.
        dtypes: dtype of each output.
        shapes: static shape of each output, `None` for an axis that is dynamic.
        domain: operator domain, `""` for ONNX itself.
        **attrs: attributes of the node: numbers, strings or lists of them.

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


def _emit(context, node, name, args):
    """tf2onnx handler: replace the marker by the node its token describes."""
    token = node.get_attr_value("token").decode()
    if not token.startswith(PREFIX):
        raise ValueError(
            f"The graph calls Python: PyFunc {name!r} cannot be exported. Expected TensorFlow "
            "operations only; replace tf.py_function or tf.numpy_function by them."
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


HANDLERS = {"PyFunc": (_emit, [])}
