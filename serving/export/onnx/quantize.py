"""Static int8: weights are int8 in the file, and what they are multiplied with becomes uint8 while the model runs.

* MatMul and Gemm with a constant weight -> QuantizeLinear and `com.microsoft.MatMulIntegerToFloat`, bias included.
* Gather of rows of a constant matrix (an embedding) -> Gather of int8 rows, then their scale.
* MatMul with the transpose of such a matrix, which is no initializer of its own (the output matrix of a large network)
  -> the product with the transpose of the same int8 rows, which ONNX Runtime makes when it opens the graph.
* MatMul with such rows, transposed (the output matrix of a shortlist) -> Gather and Transpose of int8 rows, Gather of
  their scales, and the product with both.
* LSTM -> its weights are int8 in the file alone: it computes in float32.
* **GRU and RNN stay float32**, because their error would grow from step to step. Matrices with a short side stay
  float32, too, because int8 would cost more than it saves there, and so does everything that is not a weight.

**What a row gives does not depend on the other rows of its batch.** The range that is rounded to 255 steps is that
which `serving.export.onnx.ranges` has seen in other texts; what lies beyond becomes its nearest end. ONNX Runtime's
`DynamicQuantizeMatMul` and `DynamicQuantizeLSTM` take the range of the whole batch instead, so that a row with a large
number coarsens all others, and another translation comes out. A product without a range, because no text came to it,
stays float32.

Weights are signed and symmetric with one scale per column, also in the bodies of loops. onnxruntime's own quantiser is
not used: its nodes are not in topological order if a loop captures a value.

**Products use 64 steps to each side of zero, not 127.** A processor without VNNI adds two products `uint8 * int8` in 16
bits, where `2 * 255 * 127` overflows: with uniformly distributed weights the error of a product was 7 times as large.
With 64 no sum overflows, and every processor gives the same numbers; the error is 1.1 to 1.8 times that of 127 steps
without overflow. Weights that are only looked up, or made float32 again, use 127.
"""

import itertools
from collections import Counter

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from serving.export.onnx.graphs import bodies, drop_unread_initializers, read_names, replace_nodes, sort_nodes, walk
from serving.export.onnx.loops import prune
from serving.export.onnx.products import (
    ROW_STEPS,
    Constants,
    attributes,
    gathered_columns,
    is_look_up,
    is_transposed,
    transposed_matrices,
    width,
)
from serving.export.onnx.ranges import make_foldable
from serving.export.onnx.weights import INSIDE

DOMAIN = "com.microsoft"
LAST = "last_axis"  # an initializer


def quantize(model, ranges, weights=INSIDE):
    """An int8 version of a `ModelProto` from `convert`, as a new model.

    `loops.optimize` must have run before, because without it the weights inside a loop are not constants.

    Args:
        model: the float32 model.
        ranges: `serving.export.onnx.ranges.observe` of it, or of models with the same weights.
        weights: where the arrays of the model are, and those of the int8 version will be.
    """
    model = make_foldable(model, weights)
    model.graph.initializer.append(numpy_helper.from_array(np.array([-1]), LAST))
    _quantize_graph(model.graph, Constants(weights), ranges, itertools.count())
    for graph in walk(model.graph):
        drop_unread_initializers(graph)
    if DOMAIN not in {opset.domain for opset in model.opset_import}:
        model.opset_import.append(helper.make_opsetid(DOMAIN, 1))
    weights.check(model)
    return model


def _quantize_graph(graph, constants, ranges, numbers):
    constants = constants.extend(graph)
    _gather_columns(graph, constants)
    additions = _bias_additions(graph, constants)
    nodes, merged, rounded = [], set(), {}
    for node in graph.node:
        for body in bodies(node):
            _quantize_graph(body, constants, ranges, numbers)
        low, high = ranges.get(constants.key(node), (0, 0))
        if high > low:
            bias, output = additions.get(node.output[0], ("", ""))
            if bias and len(node.input) == 2 and constants.shape(bias) == width(node, constants):
                merged.add(output)
            else:
                bias, output = "".join(node.input[2:]), node.output[0]
            key = node.input[0], low, high
            if key not in rounded:
                rounded[key] = _quantize_value(graph, nodes, next(numbers), *key)
            node = _product(node, rounded[key], bias, output, constants)
        elif node.op_type == "LSTM" and all(constants.shape(name) for name in node.input[1:3]):
            node = _lstm(node, nodes, constants)
        elif is_look_up(node, constants):
            *before, node = _look_up(node, constants)
            nodes.extend(before)
        elif node.op_type == "Add" and node.output[0] in merged:
            continue
        nodes.append(node)
    replace_nodes(graph, nodes)
    if constants.columns or constants.transposes:
        prune(graph)  # the float rows, which nothing reads any more


def _gather_columns(graph, constants):
    """Add the nodes of int8 columns, and of the scales of gathered ones, beside those of float32 columns."""
    nodes = []
    for transpose, rows in gathered_columns(graph, constants):
        weight, scale = constants.int8_rows(rows.input[0])
        matrix = transpose.output[0]
        gathered, columns, scales = (f"{matrix}/{kind}" for kind in ("rows", "columns", "scales"))
        nodes += [
            helper.make_node("Gather", [weight, rows.input[1]], [gathered]),
            helper.make_node("Transpose", [gathered], [columns], perm=[1, 0]),
            helper.make_node("Gather", [scale, rows.input[1]], [scales]),
        ]
    for transpose in transposed_matrices(graph, constants):
        rows, _ = constants.int8_rows(transpose.input[0])
        nodes.append(helper.make_node("Transpose", [rows], [f"{transpose.output[0]}/columns"], perm=[1, 0]))
    if nodes:
        graph.node.extend(nodes)
        sort_nodes(graph)


def _quantize_value(graph, nodes, number, name, low, high):
    """The names of a value in uint8, of its scale and of its zero point, all of which this adds to the graph."""
    scale = np.float32((high - low) / 255)
    zero = np.uint8(np.clip(np.rint(-low / scale), 0, 255))
    names = [f"{kind}_{number}" for kind in ("uint8", "scale", "zero")]
    graph.initializer.extend(map(numpy_helper.from_array, (np.asarray(scale), np.asarray(zero)), names[1:]))
    nodes.append(helper.make_node("QuantizeLinear", [name, *names[1:]], names[:1]))
    return names


def _product(node, rounded, bias, output, constants):
    matrix, (x, scale, zero) = node.input[1], rounded
    if matrix in constants.columns:
        weight = f"{matrix}/columns", f"{matrix}/scales"
    elif matrix in constants.transposes:
        weight = f"{matrix}/columns", constants.int8_rows(constants.transposes[matrix])[1]
    else:
        weight = constants.int8(matrix, is_transposed(node))
    inputs = [x, weight[0], scale, weight[1], zero, *(["", bias] if bias else [])]
    return helper.make_node("MatMulIntegerToFloat", inputs, [output], domain=DOMAIN)


def _bias_additions(graph, constants):
    """{value: (bias, sum)} of the values that are only used in an addition of a constant vector."""
    readers = Counter(name for node in graph.node for name in read_names(node))
    readers.update(output.name for output in graph.output)
    additions = {}
    for node in graph.node:
        if node.op_type == "Add":
            for value, bias in (node.input, reversed(node.input)):
                if readers[value] == 1 and len(constants.shape(bias)) == 1:
                    additions[value] = bias, node.output[0]
    return additions


def _look_up(node, constants):
    """The nodes that look up int8 rows and make float32 of them."""
    rows, numbers, scales, column = (f"{node.output[0]}/{kind}" for kind in ("int8", "float", "scales", "column"))
    has_rows = node.input[0] in constants.transposes.values()  # which a product shares, with a scale of each
    if has_rows:
        weight, scale = constants.int8_rows(node.input[0])
    else:
        weight, scale = constants.int8(node.input[0], steps=ROW_STEPS)
    nodes = [
        helper.make_node("Gather", [weight, node.input[1]], [rows]),
        helper.make_node("Cast", [rows], [numbers], to=TensorProto.FLOAT),
    ]
    if has_rows:
        nodes.append(helper.make_node("Gather", [scale, node.input[1]], [scales]))
        nodes.append(helper.make_node("Unsqueeze", [scales, LAST], [column]))
        scale = column
    return [*nodes, helper.make_node("Mul", [numbers, scale], [node.output[0]])]


def _lstm(node, nodes, constants):
    """The LSTM with weights that ONNX Runtime makes float32 of int8 rows, once, when it opens the graph."""
    inputs = list(node.input)
    for place in (1, 2):
        weight, scale = constants.int8_lists(inputs[place])
        numbers, inputs[place] = (f"{node.output[0]}/{kind}{place}" for kind in ("float", "weight"))
        nodes.append(helper.make_node("Cast", [weight], [numbers], to=TensorProto.FLOAT))
        nodes.append(helper.make_node("Mul", [numbers, scale], [inputs[place]]))
    return helper.make_node("LSTM", inputs, node.output, node.name, **attributes(node))
