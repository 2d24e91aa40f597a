"""One type of whole numbers inside a graph: int64, which ONNX' own operators give and take.

TensorFlow counts in int32, so tf2onnx casts what `Shape` and `TopK` give to int32, and casts it back to int64 where
`Reshape` and `Expand` take it. `widen` makes all values inside int64, and removes the casts between equal types. Inputs
and outputs of the graph, and what an operator takes in int32 alone, stay as they are.
"""

import numpy as np
from onnx import TensorProto, helper
from onnx.external_data_helper import uses_external_data

from serving.export.onnx.graphs import bodies, cast, rename_reads, replace_nodes, walk
from serving.export.onnx.weights import INSIDE

INT32, INT64 = TensorProto.INT32, TensorProto.INT64
LARGE = 1024  # numbers of a constant from which on it stays int32 in the file, and is cast when the graph is opened
# The input that an operator takes in int32 alone: the lengths of recurrent ones, and the padding of attention.
NARROW = {"GRU": 4, "LSTM": 4, "RNN": 4, "MultiHeadAttention": 4}
# The input whose type an operator's outputs have.
SOURCE = {"Where": 1} | dict.fromkeys(
    "Abs Add Concat CumSum Div Expand Gather GatherElements GatherND Identity Max Min Mod Mul Neg Pad Range ReduceMax "
    "ReduceMin ReduceProd ReduceSum Reshape ScatterElements ScatterND Slice Split Squeeze Sub Tile Transpose "
    "Unsqueeze".split(),
    0,
)
COUNTS = {"ArgMax": 0, "ArgMin": 0, "NonZero": 0, "Shape": 0, "Size": 0, "TopK": 1}  # the output that is always int64


def widen(graph, weights=INSIDE):
    """Make all int32 values inside the outermost graph int64, in place.

    Args:
        graph: a `GraphProto`. Its nodes are sorted, no two values of it have the same name, and no body has constants.
        weights: where the arrays are (`serving.export.onnx.weights`).
    """
    for inner in walk(graph):
        for node in inner.node:
            _widen_attributes(node)
        for value in (*inner.input, *inner.output) if inner is not graph else ():
            if value.type.tensor_type.elem_type == INT32:
                value.type.tensor_type.elem_type = INT64
        _cast_narrow(inner)
    _cast_ends(graph)
    _widen_constants(graph, weights)
    _drop_casts(graph, {tensor.name for tensor in graph.initializer if tensor.data_type == INT64})


def _widen_constants(graph, weights):
    """Those of an input, which hold where it is not given, stay."""
    inputs, names = {value.name for value in graph.input}, {}
    for tensor in graph.initializer:
        if tensor.data_type != INT32 or tensor.name in inputs:
            continue
        if np.prod(tensor.dims) > LARGE or uses_external_data(tensor):
            names[tensor.name] = f"{tensor.name}/int64"
        else:
            values = np.ravel(weights.array(tensor))
            tensor.CopyFrom(helper.make_tensor(tensor.name, INT64, tensor.dims, values.tolist()))
    rename_reads(graph, names)
    replace_nodes(graph, [*(cast(*pair, INT64) for pair in names.items()), *graph.node])


def _cast_ends(graph):
    """Cast the int32 inputs and outputs of the outermost graph."""
    inputs, outputs = (
        {value.name: f"{value.name}/int64" for value in values if value.type.tensor_type.elem_type == INT32}
        for values in (graph.input, graph.output)
    )
    rename_reads(graph, inputs | outputs)
    for node in graph.node:
        node.output[:] = [outputs.get(name, name) for name in node.output]
    for tensor in graph.initializer:  # an output may be a constant
        tensor.name = outputs.get(tensor.name, tensor.name)
    first, last = (cast(*pair, INT64) for pair in inputs.items()), (cast(b, a, INT32) for a, b in outputs.items())
    replace_nodes(graph, [*first, *graph.node, *last])


def _widen_attributes(node):
    """The types that a node names: of a cast, of a constant, and of what is drawn."""
    if node.op_type == "Multinomial" and not any(each.name == "dtype" for each in node.attribute):
        node.attribute.append(helper.make_attribute("dtype", INT32))  # which is what it draws if it does not say so
    for attribute in node.attribute:
        if attribute.name in ("to", "dtype") and attribute.i == INT32:
            attribute.i = INT64
        elif attribute.name == "value" and attribute.t.data_type == INT32:
            values = np.ravel(INSIDE.array(attribute.t)).tolist()
            attribute.t.CopyFrom(helper.make_tensor(attribute.t.name, INT64, attribute.t.dims, values))


def _cast_narrow(graph):
    """Cast back what an operator takes in int32 alone."""
    casts = {}
    for node in graph.node:
        place = NARROW.get(node.op_type)
        if place is not None and node.input[place : place + 1] not in ([], [""]):
            source = node.input[place]
            node.input[place] = f"{source}/int32"
            casts[source] = cast(source, node.input[place], INT32)
    replace_nodes(graph, [*casts.values(), *graph.node])


def _drop_casts(graph, wide):
    """Remove the casts of what is int64 already. `wide`: names of int64 values of the graphs around."""
    wide = wide | {value.name for value in graph.input if value.type.tensor_type.elem_type == INT64}
    outputs, names = {value.name for value in graph.output}, {}
    for node in graph.node:
        node.input[:] = [names.get(name, name) for name in node.input]
        is_cast = node.op_type == "Cast" and node.attribute[0].i == INT64
        if is_cast and node.input[0] in wide and node.output[0] not in outputs:
            names[node.output[0]] = node.input[0]
        elif is_cast or node.op_type in SOURCE and not node.domain and node.input[SOURCE[node.op_type]] in wide:
            wide.update(node.output)
        elif node.op_type in COUNTS:
            wide.add(node.output[COUNTS[node.op_type]])
        for body in bodies(node):
            rename_reads(body, names)
            _drop_casts(body, wide)
        if bodies(node):  # what a loop or a condition gives is of the type that its body declares
            given = bodies(node)[0].output[node.op_type == "Loop" :]
            pairs = zip(node.output, given, strict=False)
            wide.update(name for name, value in pairs if value.type.tensor_type.elem_type == INT64)
    replace_nodes(graph, [node for node in graph.node if node.output[0] not in names])
