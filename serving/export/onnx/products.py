"""The products of a graph with constant weights, and the int8 versions of these weights."""

import copy
import hashlib

import numpy as np
from onnx import TensorProto, helper

from serving.export.onnx.weights import INSIDE

SMALLEST = 16  # a matrix with a side shorter than this stays float32
STEPS = 64  # to each side of zero: 2 * 255 * 64 < 2^15
ROW_STEPS = 127  # the same for weights that are not multiplied as integers


class Constants:
    """The constants that a graph can read, its own and those of the graphs around it, and their int8 versions."""

    def __init__(self, weights=INSIDE):
        self.weights = weights
        self.homes = {}  # name -> (graph, tensor)
        self.columns = {}  # name of a matrix of gathered columns -> name of the matrix of its rows
        self.transposes = {}  # name of the transpose of a matrix -> name of the matrix
        self.rounded = set()  # names of int8 weights that are there, in any graph

    def extend(self, graph):
        """The constants that a graph inside this one can read."""
        inner = copy.copy(self)
        inner.homes = self.homes | {tensor.name: (graph, tensor) for tensor in graph.initializer}
        gathered = {node.output[0]: rows.input[0] for node, rows in gathered_columns(graph, inner)}
        transposes = {node.output[0]: node.input[0] for node in transposed_matrices(graph, inner)}
        inner.columns, inner.transposes = self.columns | gathered, self.transposes | transposes
        return inner

    def shape(self, name):
        """The shape of a float constant; () for any other name."""
        _, tensor = self.homes.get(name, (None, TensorProto()))
        return tuple(tensor.dims) if tensor.data_type == TensorProto.FLOAT else ()

    def key(self, node):
        """A name for the weight of a product, the same in every graph of a model; None if the node is no product.

        It is a digest of the numbers, which do not depend on how the graph holds them: transposed, or as gathered rows.
        """
        rows = self.columns | self.transposes
        if node.op_type == "MatMul" and not node.domain and node.input[1] in rows:
            return self._digest(rows[node.input[1]], True)
        return self._digest(node.input[1], is_transposed(node)) if is_product(node, self) else None

    def int8(self, name, transposed=False, steps=STEPS):
        """The names of the int8 weight (..., inputs, outputs) and of its scales (..., outputs)."""
        base = f"{name}/int8_{steps}" + ("_transposed" if transposed else "")
        return self._add_once(name, base, lambda: to_int8(self._weight(name, transposed), steps))

    def int8_rows(self, name):
        """The names of the int8 weight `(rows, units)` and of the scale `(rows,)` of each row."""
        return self._add_once(name, f"{name}/int8_rows", lambda: to_int8(self._weight(name), axis=-1))

    def int8_lists(self, name):
        """The names of an int8 weight as it is, and of the scales, for each index of the last axis but one, `(..., 1)`.

        They are the weight again if they are multiplied.
        """

        def make():
            rounded, scale = to_int8(self._weight(name), ROW_STEPS, axis=-1)
            return rounded, scale[..., None]

        return self._add_once(name, f"{name}/int8_lists", make)

    def _digest(self, name, transposed):
        weight = np.ascontiguousarray(self._weight(name, transposed))
        return hashlib.sha256(repr(weight.shape).encode() + weight.tobytes()).hexdigest()[:16]

    def _weight(self, name, transposed=False):
        weight = self.weights.array(self.homes[name][1])
        return np.swapaxes(weight, -1, -2) if transposed else weight

    def _add_once(self, name, base, make):
        """The names of two initializers: what `make` has rounded of a weight, and its scales.

        They are made once, in the graph that holds the weight, however many products share it.
        """
        names = [base, f"{base}_scale"]
        if base not in self.rounded:
            self.rounded.add(base)
            home, _ = self.homes[name]
            home.initializer.extend(map(self.weights.tensor, make(), names))
        return names


def to_int8(weight, steps=STEPS, axis=-2):
    """`(int8, scale)`, whose product is nearly the weight; each scale is that of all numbers along the axis."""
    largest = np.abs(weight).max(axis, keepdims=True)
    scale = np.maximum(largest, np.finfo(np.float32).tiny) / np.float32(steps)
    rounded = np.clip(np.rint(weight / scale), -steps, steps).astype(np.int8)
    return np.ascontiguousarray(rounded), np.squeeze(scale, axis)


def attributes(node):
    """`{name: value}` of a node."""
    return {a.name: helper.get_attribute_value(a) for a in node.attribute}


def is_transposed(node):
    """Whether a Gemm multiplies with the transpose of its weight."""
    return bool(attributes(node).get("transB"))


def is_product(node, constants):
    """Whether the node is x W, x W + b or x W^T + b, with constant W and b and with a W that is large enough."""
    if node.op_type not in ("MatMul", "Gemm") or node.domain:
        return False
    shape, values = constants.shape(node.input[1]), attributes(node)
    return (
        len(shape) == 2
        and min(shape) >= SMALLEST
        and not values.get("transA")
        and all(values.get(name, 1) == 1 for name in ("alpha", "beta"))
        and all(constants.shape(b) == width(node, constants) for b in node.input[2:])
    )


def width(node, constants):
    """The shape of a bias of a product."""
    matrix = constants.transposes.get(node.input[1])
    shape = constants.shape(matrix or node.input[1])
    return shape[:1] if matrix or is_transposed(node) else shape[1:]


def is_look_up(node, constants):
    """Whether the node looks up rows of a matrix that is large enough."""
    shape = constants.shape(node.input[0]) if node.op_type == "Gather" else ()
    return len(shape) == 2 and min(shape) >= SMALLEST and not attributes(node).get("axis")


def transposed_matrices(graph, constants):
    """The nodes of matrices `Transpose(W)`, with constant W."""
    shapes = [(node, constants.shape(node.input[0])) for node in graph.node if node.op_type == "Transpose"]
    return [node for node, shape in shapes if len(shape) == 2 and min(shape) >= SMALLEST and _swaps_axes(node)]


def _swaps_axes(node):
    return list(attributes(node).get("perm", [])) == [1, 0]


def gathered_columns(graph, constants):
    """`[(transpose, gather)]`: the nodes of matrices `Transpose(Gather(W, ids))`, with constant rows W."""
    makers = {node.output[0]: node for node in graph.node}
    pairs = [(node, makers.get(node.input[0])) for node in graph.node if node.op_type == "Transpose"]
    return [
        (transpose, rows)
        for transpose, rows in pairs
        if rows is not None and is_look_up(rows, constants) and _swaps_axes(transpose)
    ]
