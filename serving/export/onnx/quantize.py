"""Dynamic int8: weights are int8 in the file, activations become uint8 while the model runs.

* LSTM -> `com.microsoft.DynamicQuantizeLSTM`.
* MatMul and Gemm with a constant weight -> `com.microsoft.DynamicQuantizeMatMul`, bias included.
* Gather of rows of a constant matrix (an embedding) -> Gather of int8 rows, then their scale.
* MatMul with such rows, transposed (the output matrix of a shortlist) -> Gather and Transpose of int8 rows, Gather of
  their scales, and `DynamicQuantizeMatMul` with both.
* **GRU and RNN stay float32**, because onnxruntime has no int8 operator for them. Matrices with a short side stay
  float32, too, because int8 would cost more than it saves there, and so does everything that is not a weight.

Weights are signed and symmetric with one scale per column, also in the bodies of loops. onnxruntime's own
`quantize_dynamic` is not used: it writes three nodes for a product, and its nodes are not in topological order if a
loop captures a value.

**Products use 64 steps to each side of zero, not 127.** A processor without VNNI adds two products `uint8 * int8` in 16
bits, where `2 * 255 * 127` overflows: with uniformly distributed weights the error of a product was 7 times as large.
With 64 no sum overflows, and every processor gives the same numbers; the error is 1.1 to 1.8 times that of 127 steps
without overflow. Rows that are only looked up use 127.

Activations have one scale per tensor, which depends on the whole batch: **the result of a row depends, in its last
digits, on the other rows of its batch.** A scale per row would take six more nodes per product (`MatMulNBits`, which
has one, takes two to three times as long from four rows on).
"""

from collections import Counter

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from serving.export.onnx.fold import fold_constants
from serving.export.onnx.graphs import (
    bodies,
    drop_unread_initializers,
    opset_of,
    reads,
    replace_nodes,
    sort_nodes,
    walk,
)
from serving.export.onnx.loops import prune

DOMAIN = "com.microsoft"
SMALLEST = 16  # a matrix with a side shorter than this stays float32
STEPS = 64  # to each side of zero: 2 * 255 * 64 < 2^15
ROW_STEPS = 127  # the same for rows that are only looked up, and not multiplied as integers


def quantize(model):
    """A dynamically quantised int8 version of a `ModelProto` from `convert`, as a new model.

    `loops.optimize` must have run before, because without it the weights inside a loop are not constants.
    """
    model = onnx.ModelProto.FromString(model.SerializeToString())
    fold_constants(model.graph, opset_of(model), whatever_it_costs=("Transpose",))
    _quantize_graph(model.graph, Constants())
    for graph in walk(model.graph):
        drop_unread_initializers(graph)
    if DOMAIN not in {opset.domain for opset in model.opset_import}:
        model.opset_import.append(helper.make_opsetid(DOMAIN, 1))
    onnx.checker.check_model(model)
    return model


class Constants:
    """The constants that a graph can read, its own and those of the graphs around it, and their int8 versions."""

    def __init__(self, homes=None, done=None, columns=None):
        self.homes = homes or {}  # name -> (graph, tensor)
        self.done = {} if done is None else done  # (name, transposed) -> int8 names
        self.columns = columns or {}  # name of a matrix of gathered columns -> (int8 columns, their scales)

    def within(self, graph):
        own = {tensor.name: (graph, tensor) for tensor in graph.initializer}
        found = Constants(self.homes | own, self.done)
        return Constants(found.homes, self.done, self.columns | _gathered_columns(graph, found))

    def shape(self, name):
        """The shape of a float constant; () for any other name."""
        _, tensor = self.homes.get(name, (None, TensorProto()))
        return tuple(tensor.dims) if tensor.data_type == TensorProto.FLOAT else ()

    def int8(self, name, transposed=False, steps=STEPS):
        """The names of the int8 weight (..., inputs, outputs) and of its scales and zero points (..., outputs)."""
        key = name, transposed, steps
        if key not in self.done:  # a shared weight is quantised once, in the graph that holds it
            rounded, scale = to_int8(self._weight(name, transposed), steps)
            base = f"{name}/int8_{steps}" + ("_transposed" if transposed else "")
            self.done[key] = self._kept(name, base, rounded, scale)
        return self.done[key]

    def int8_rows(self, name):
        """The names of the int8 weight `(rows, units)` and of the scale `(rows,)` of each row."""
        key = name, "rows"
        if key not in self.done:
            rounded, scale = to_int8(self._weight(name, transposed=True))
            self.done[key] = self._kept(name, f"{name}/int8_rows", np.ascontiguousarray(rounded.T), scale)[:2]
        return self.done[key]

    def _weight(self, name, transposed):
        weight = numpy_helper.to_array(self.homes[name][1])
        return np.swapaxes(weight, -1, -2) if transposed else weight

    def _kept(self, name, base, rounded, scale):
        """The names of initializers, beside the weight, of what was rounded, its scales and its zero points."""
        names = [base, f"{base}_scale", f"{base}_zero"]
        arrays = rounded, scale, np.zeros(scale.shape, np.int8)
        self.homes[name][0].initializer.extend(map(numpy_helper.from_array, arrays, names))
        return names


def to_int8(weight, steps=STEPS):
    """`(int8, scale)` with `weight = int8 * scale`: shapes (..., inputs, outputs) and (..., outputs)."""
    largest = np.abs(weight).max(axis=-2)
    scale = np.maximum(largest, np.finfo(np.float32).tiny) / np.float32(steps)
    rounded = np.clip(np.rint(weight / scale[..., None, :]), -steps, steps).astype(np.int8)
    return np.ascontiguousarray(rounded), scale


def _quantize_graph(graph, constants):
    constants = constants.within(graph)
    additions = _bias_additions(graph, constants)
    nodes, merged = [], set()
    for node in graph.node:
        for body in bodies(node):
            _quantize_graph(body, constants)
        if node.op_type == "MatMul" and node.input[1] in constants.columns:
            inputs = [node.input[0], *constants.columns[node.input[1]]]
            node = helper.make_node("DynamicQuantizeMatMul", inputs, node.output, f"{node.name}_int8", domain=DOMAIN)
        elif _is_product(node, constants):
            bias, output = additions.get(node.output[0], ("", ""))
            if len(node.input) == 2 and constants.shape(bias) == _width(node, constants):
                merged.add(output)
                node = _product(node, bias, output, constants)
            else:
                node = _product(node, "".join(node.input[2:]), node.output[0], constants)
        elif _is_lstm(node, constants):
            node = _lstm(node, constants)
        elif _is_look_up(node, constants):
            *before, node = _look_up(node, constants)
            nodes.extend(before)
        elif node.op_type == "Add" and node.output[0] in merged:
            continue
        nodes.append(node)
    replace_nodes(graph, nodes)
    if constants.columns:
        prune(graph)  # the float rows, which nothing reads any more


def _gathered_columns(graph, constants):
    """`{matrix: (int8 columns, their scales)}` of matrices `Transpose(Gather(W, ids))`, with constant rows W.

    The nodes that make them are added to the graph.
    """
    made = {node.output[0]: node for node in graph.node}
    found, nodes = {}, []
    for node in graph.node:
        rows = made.get(node.input[0]) if node.op_type == "Transpose" else None
        if rows is not None and _is_look_up(rows, constants) and _turns(node):
            names = constants.int8_rows(rows.input[0])
            gathered, columns, scales = (f"{node.output[0]}/{kind}" for kind in ("rows", "columns", "scales"))
            nodes += [
                helper.make_node("Gather", [names[0], rows.input[1]], [gathered], f"{node.name}_rows"),
                helper.make_node("Transpose", [gathered], [columns], f"{node.name}_columns", perm=[1, 0]),
                helper.make_node("Gather", [names[1], rows.input[1]], [scales], f"{node.name}_scales"),
            ]
            found[node.output[0]] = columns, scales
    if nodes:
        graph.node.extend(nodes)
        sort_nodes(graph)
    return found


def _turns(node):
    return list(_attributes(node).get("perm", [])) == [1, 0]


def _attributes(node):
    return {a.name: helper.get_attribute_value(a) for a in node.attribute}


def _is_product(node, constants):
    """Whether the node is x W, x W + b or x W^T + b, with constant W and b and with a W that is large enough."""
    if node.op_type not in ("MatMul", "Gemm") or node.domain:
        return False
    shape, attributes = constants.shape(node.input[1]), _attributes(node)
    return (
        len(shape) == 2
        and min(shape) >= SMALLEST
        and not attributes.get("transA")
        and all(attributes.get(name, 1) == 1 for name in ("alpha", "beta"))
        and all(constants.shape(b) == _width(node, constants) for b in node.input[2:])
    )


def _width(node, constants):
    shape = constants.shape(node.input[1])
    return shape[:1] if _attributes(node).get("transB") else shape[1:]


def _product(node, bias, output, constants):
    weight, scale, _ = constants.int8(node.input[1], bool(_attributes(node).get("transB")))
    inputs = [node.input[0], weight, scale, *(["", bias] if bias else [])]
    name = f"{node.name}_int8"
    return helper.make_node("DynamicQuantizeMatMul", inputs, [output], name, domain=DOMAIN)


def _bias_additions(graph, constants):
    """{value: (bias, sum)} of the values that are only used in an addition of a constant vector."""
    readers = Counter(name for node in graph.node for name in reads(node))
    readers.update(output.name for output in graph.output)
    additions = {}
    for node in graph.node:
        if node.op_type == "Add":
            for value, bias in (node.input, reversed(node.input)):
                if readers[value] == 1 and len(constants.shape(bias)) == 1:
                    additions[value] = bias, node.output[0]
    return additions


def _is_look_up(node, constants):
    """Whether the node looks up rows of a matrix that is large enough."""
    shape = constants.shape(node.input[0]) if node.op_type == "Gather" else ()
    return len(shape) == 2 and min(shape) >= SMALLEST and not _attributes(node).get("axis")


def _look_up(node, constants):
    weight, scale, _ = constants.int8(node.input[0], steps=ROW_STEPS)
    rows, numbers = (f"{node.output[0]}/{kind}" for kind in ("int8", "float"))
    return (
        helper.make_node("Gather", [weight, node.input[1]], [rows], f"{node.name}_int8"),
        helper.make_node("Cast", [rows], [numbers], f"{node.name}_float", to=TensorProto.FLOAT),
        helper.make_node("Mul", [numbers, scale], [node.output[0]], f"{node.name}_scale"),
    )


def _is_lstm(node, constants):
    return node.op_type == "LSTM" and all(constants.shape(name) for name in node.input[1:3])


def _lstm(node, constants):
    """The quantised LSTM; its inputs are X W R B lengths h0 c0 P, then scale and zero point of W and of R."""
    weight, *weight_scale = constants.int8(node.input[1], transposed=True)
    recurrent, *recurrent_scale = constants.int8(node.input[2], transposed=True)
    absent = [""] * (8 - len(node.input))
    inputs = [node.input[0], weight, recurrent, *node.input[3:], *absent]
    inputs += [*weight_scale, *recurrent_scale]
    attributes = {name: v for name, v in _attributes(node).items() if name != "layout"}
    name = f"{node.name}_int8"
    kind = "DynamicQuantizeLSTM"
    return helper.make_node(kind, inputs, node.output, name, domain=DOMAIN, **attributes)
