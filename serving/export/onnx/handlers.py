"""Handlers of tf2onnx for operations that it does not support, or for which it writes slow or wrong nodes."""

import numpy as np
from onnx import helper

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


HANDLERS = {**markers.HANDLERS, "Erfc": (_erfc, []), "Range": (_range, []), "SelectV2": (_where, [])}
