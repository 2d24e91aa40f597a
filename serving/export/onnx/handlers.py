"""Handlers of tf2onnx for operations that it does not support, or for which it writes slow or wrong nodes."""

import numpy as np
from onnx import TensorProto, helper
from tf2onnx.onnx_opset.logical import GreaterLess
from tf2onnx.onnx_opset.math import FloorMod, MatMul

from serving.export.onnx.markers import emit

WHOLE = TensorProto.INT32, TensorProto.INT64


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


TURNED = ("transpose_a", "adjoint_a", "adj_x"), ("transpose_b", "adjoint_b", "adj_y")  # attributes of each factor


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
