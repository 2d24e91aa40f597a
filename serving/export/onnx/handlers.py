"""How operations become ONNX nodes for which tf2onnx has no nodes, or slow or wrong ones: markers and handlers.

`onnx_op` adds a marker to the graph: a `PyFunc` that stands for exactly one ONNX node, which its token holds as JSON.
It is never run: at the conversion, `emit` replaces it by this node. Nothing has to be compiled or registered, weights
become initializers as usual, and it works inside the bodies of `tf.while_loop`. A graph with markers can only be
converted, so they are emitted under a context manager that `convert` enters. `HANDLERS` is what tf2onnx is given.
"""

import json

import numpy as np
import tensorflow as tf
from onnx import TensorProto, helper
from tf2onnx.onnx_opset.logical import GreaterLess
from tf2onnx.onnx_opset.math import FloorMod, MatMul

PREFIX = "onnx_marker:"
WHOLE = TensorProto.INT32, TensorProto.INT64
TURNED = ("transpose_a", "adjoint_a", "adj_x"), ("transpose_b", "adjoint_b", "adj_y")  # attributes of each factor


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


def _erfc(context, node, name, args):
    """erfc(x) = 1 - erf(x); exact gelu needs it."""
    dtype, shape = context.get_dtype(node.output[0]), context.get_shape(node.output[0])
    context.remove_node(name)
    one = context.make_const(f"{name}/one", np.array(1, helper.tensor_dtype_to_np_dtype(dtype)))
    erf = context.make_node("Erf", node.input, shapes=[shape], dtypes=[dtype])
    inputs = [one.output[0], erf.output[0]]
    context.make_node("Sub", inputs, outputs=node.output, shapes=[shape], dtypes=[dtype])


def _one_node(context, node, name, args):
    """The operator of ONNX itself that tf2onnx has given the node as its type, by `HANDLERS`."""
    operator = node.type
    shape, dtype = context.get_shape(node.output[0]), context.get_dtype(node.output[0])
    context.remove_node(name)
    context.make_node(operator, node.input, outputs=node.output, name=name, shapes=[shape], dtypes=[dtype], domain="")


def _modulo(context, node, name, args):
    """Of whole numbers one `Mod`, whose sign is the divisor's. tf2onnx divides, multiplies and subtracts."""
    if context.get_dtype(node.output[0]) in WHOLE:
        _one_node(context, node, name, args)
    else:
        FloorMod.version_7(context, node)


def _compare(context, node, name, args):
    """Whole numbers are compared as they are: tf2onnx casts them to float32, which does not tell large ones apart."""
    if context.get_dtype(node.input[0]) not in WHOLE:
        GreaterLess.version_7(context, node)


def _product(context, node, name, args):
    """A product: tf2onnx forgets that a factor is transposed whose shape it does not know, as in loops."""
    for factor, names in zip(node.input, TURNED, strict=True):
        transposes = sum(attribute.i for each in names if (attribute := node.get_attr(each)))
        if transposes % 2 and not context.get_shape(factor):
            if node.type != "MatMul":
                raise ValueError(f"{node.type} {name!r} transposes a factor of unknown rank; give it a shape")
            context.set_shape(factor, [-1, -1])
    MatMul.version_10(context, node)


HANDLERS = {
    "Erfc": (_erfc, []),
    "FloorMod": (_modulo, ["Mod"]),
    "PyFunc": (emit, []),
    **dict.fromkeys(("Greater", "Less"), (_compare, [])),
    "Range": (_one_node, ["Range"]),  # tf2onnx writes Microsoft's if that is allowed, which other engines do not know
    "SelectV2": (_one_node, ["Where"]),  # tf2onnx writes `cond * x + (1 - cond) * y`, which turns infinity into NaN
    **dict.fromkeys(("MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"), (_product, [])),
}
