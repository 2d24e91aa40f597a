"""Handlers of tf2onnx for operations that it does not support, or for which it writes slow or wrong nodes."""

import numpy as np
from onnx import TensorProto, helper
from tf2onnx.onnx_opset.math import FloorMod, MatMul

from serving.export.onnx import markers


def _erfc(context, node, name, args):
    """erfc(x) = 1 - erf(x); exact gelu needs it."""
    dtype, shape = context.get_dtype(node.output[0]), context.get_shape(node.output[0])
    context.remove_node(name)
    one = context.make_const(f"{name}/one", np.array(1, helper.tensor_dtype_to_np_dtype(dtype)))
    erf = context.make_node("Erf", node.input, shapes=[shape], dtypes=[dtype])
    inputs = [one.output[0], erf.output[0]]
    context.make_node("Sub", inputs, outputs=node.output, shapes=[shape], dtypes=[dtype])


def _where(context, node, name, args):
    """One `Where` node. tf2onnx writes `cond * x + (1 - cond) * y`, six nodes that turn infinity into NaN."""
    shape, dtype = context.get_shape(node.output[0]), context.get_dtype(node.output[0])
    context.remove_node(name)
    context.make_node("Where", node.input, outputs=node.output, name=name, shapes=[shape], dtypes=[dtype])


def _range(context, node, name, args):
    """ONNX' own `Range`. tf2onnx writes Microsoft's operator if that is allowed, which other engines do not know."""
    shape, dtype = context.get_shape(node.output[0]), context.get_dtype(node.output[0])
    context.remove_node(name)
    context.make_node("Range", node.input, outputs=node.output, name=name, shapes=[shape], dtypes=[dtype], domain="")


def _modulo(context, node, name, args):
    """One `Mod` of whole numbers, whose sign is the divisor's. tf2onnx divides, multiplies and subtracts."""
    shape, dtype = context.get_shape(node.output[0]), context.get_dtype(node.output[0])
    if dtype not in (TensorProto.INT32, TensorProto.INT64):
        return FloorMod.version_7(context, node)
    context.remove_node(name)
    context.make_node("Mod", node.input, outputs=node.output, name=name, shapes=[shape], dtypes=[dtype])


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
    **markers.HANDLERS,
    "Erfc": (_erfc, []),
    "FloorMod": (_modulo, []),
    "Range": (_range, []),
    "SelectV2": (_where, []),
    **dict.fromkeys(("MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"), (_product, [])),
}
