"""Fewer nodes for the same numbers: equal nodes are merged, constants are folded, and several nodes become one.

* A model computes the same shape, mask or index in every layer. onnxruntime also merges equal nodes, but not constants,
  so it does not recognise nodes as equal if they read different copies of the number 0.
* onnxruntime folds constants, too, but only when it loads the model. This is too late for the quantiser and for
  `sink_initializers`, which both look for initializers.
* tf2onnx translates each TensorFlow operation by itself, and writes several nodes for what one could do. A step of a
  search has several of them, and each node of a small model costs as much as its numbers.

        Slice(x), all of it                             -> x
        Squeeze(Slice(x, [s], [s + 1], [axis]), [axis]) -> Gather(x, s, axis)
        Not(Not(x))                                     -> x
"""

from collections import Counter

import numpy as np
from onnx import TensorProto, helper, numpy_helper
from onnx.external_data_helper import uses_external_data
from onnx.reference import ReferenceEvaluator

from serving.export.onnx.graphs import (
    RANDOM,
    bodies,
    drop_unread_initializers,
    read_names,
    rename_reads,
    replace_nodes,
    walk,
)
from serving.export.onnx.weights import INSIDE

SMALL = 1024  # bytes of a constant that is compared with others
GROWTH = 4096  # bytes by which folding a node may always enlarge the file
FEW = 64  # numbers at most of a constant that says which part is taken
END = 10**9  # from which on the end of a slice means the end of the axis: that of Keras, and that of TensorFlow


def merge_duplicates(graph, first_names=None):
    """Merge duplicates in the graph, whose nodes must be sorted, and in every graph inside it."""
    first_names = dict(first_names or {})  # the key of a node or a constant -> the names of its values
    _merge_constants(graph, first_names)
    outputs = {value.name for value in graph.output}
    names, nodes = {}, []
    for node in graph.node:
        node.input[:] = [names.get(name, name) for name in node.input]
        for body in bodies(node):
            rename_reads(body, names)
            merge_duplicates(body, first_names)
        key = _key(node)
        first = first_names.setdefault(key, list(node.output)) if key else list(node.output)
        if first == list(node.output) or outputs.intersection(node.output):
            nodes.append(node)
        else:
            names.update(zip(node.output, first, strict=True))
    replace_nodes(graph, nodes)


def _key(node):
    """A key that is equal for nodes that compute the same; None for a node that must not be merged."""
    if bodies(node) or node.op_type in RANDOM:
        return None
    attributes = sorted(attribute.SerializeToString() for attribute in node.attribute)
    return node.domain, node.op_type, tuple(node.input), tuple(attributes), tuple(map(bool, node.output))


def _merge_constants(graph, first_names):
    names = {}
    for tensor in graph.initializer:
        if uses_external_data(tensor):
            continue
        value = numpy_helper.to_array(tensor)
        if value.nbytes <= SMALL and value.dtype != object:
            (first,) = first_names.setdefault((value.dtype.str, value.shape, value.tobytes()), [tensor.name])
            names[tensor.name] = first
    rename_reads(graph, names)
    drop_unread_initializers(graph)


def fold_constants(graph, opset, whatever_it_costs=(), weights=INSIDE):
    """Replace nodes of the outermost, sorted graph by initializers, unless the file would become larger.

    Args:
        graph: a `GraphProto`, changed in place.
        opset: version of the ONNX operators.
        whatever_it_costs: operator types that are folded even if the file becomes larger, such as the transpose of an
            embedding which is also read without the transpose.
        weights: where the arrays are (`serving.export.onnx.weights`).
    """
    inputs = {value.name for value in graph.input}  # one with an initializer may be given another value
    constants = {each.name: weights.array(each) for each in graph.initializer if each.name not in inputs}
    outputs = {value.name for value in graph.output}
    readers = Counter(name for node in graph.node for name in read_names(node))
    remaining = []
    for node in graph.node:
        values = {}
        if _is_foldable(node, constants, outputs):
            values = _evaluate(node, constants, opset)
            freed = sum(constants[name].nbytes for name in node.input if readers[name] == 1)
            added = sum(value.nbytes for value in values.values())
            if added > freed + GROWTH and node.op_type not in whatever_it_costs:
                values = {}
        if not values:
            remaining.append(node)
        constants.update(values)
        graph.initializer.extend(weights.tensor(value, name) for name, value in values.items())
    replace_nodes(graph, remaining)


def _is_foldable(node, constants, outputs):
    inputs = [name for name in node.input if name]
    return (
        not node.domain
        and node.op_type not in RANDOM
        and not bodies(node)
        and len(inputs) > 0
        and all(name in constants for name in inputs)
        and not outputs.intersection(node.output)
    )


def _evaluate(node, constants, opset):
    """The values of the node's outputs by name."""
    feeds = {name: constants[name] for name in node.input if name}
    results = [name for name in node.output if name]
    graph = helper.make_graph([node], "constant", [], [])
    values = ReferenceEvaluator(graph, {"": opset}).run(results, feeds)
    return dict(zip(results, map(np.asarray, values), strict=True))


def shorten(graph, weights=INSIDE):
    """Rewrite the nodes of the graph, whose constants are in it, and of every graph inside it; nothing is pruned."""
    constants = {
        each.name: weights.array(each)
        for each in graph.initializer
        if not uses_external_data(each) and np.prod(each.dims) <= FEW
    }
    for inner in walk(graph):
        _Graph(inner, constants, graph).shorten()


class _Graph:
    """The nodes of one graph; new constants belong to the outermost one."""

    def __init__(self, graph, constants, home):
        self.graph, self.constants, self.home = graph, constants, home
        self.makers = {name: node for node in graph.node for name in node.output}

    def shorten(self):
        names, outputs = {}, {value.name for value in self.graph.output}
        for node in self.graph.node:
            node.input[:] = [names.get(name, name) for name in node.input]
            same = self._find_equal(node)
            if same and node.output[0] not in outputs:
                names[node.output[0]] = same
            elif node.op_type == "Squeeze":
                self._pick(node)
        rename_reads(self.graph, names)

    def _find_maker(self, name, *kinds):
        """The node that makes a value, if it is of one of these kinds."""
        node = self.makers.get(name)
        return node if node is not None and node.op_type in kinds and not node.domain else None

    def _find_equal(self, node):
        """What a node's output is equal to, or None."""
        if node.op_type == "Not" and (inner := self._find_maker(node.input[0], "Not")):
            return inner.input[0]
        if node.op_type == "Slice" and (part := self._read_part(node)) and not any(map(_is_one, part.values())):
            is_whole = all(start == 0 and end >= END for start, end in part.values())
            return node.input[0] if is_whole else None
        return None

    def _read_part(self, node):
        """{axis: (first, end)} of a Slice by constants with steps of one; None of any other."""
        bounds = [self.constants.get(name) for name in node.input[1:]]
        if len(bounds) < 3 or any(each is None for each in bounds) or any(step != 1 for step in np.ravel(bounds[3:])):
            return None
        starts, ends, axes = (each.tolist() for each in bounds[:3])
        return {axis: (first, end) for axis, first, end in zip(axes, starts, ends, strict=True)}

    def _pick(self, node):
        """Turn a Squeeze of the one place that a Slice takes into a Gather of this place."""
        slicing = self._find_maker(node.input[0], "Slice")
        axes = self.constants.get(node.input[1]) if node.input[1:] else None
        if slicing is None or axes is None or axes.size != 1:
            return
        part, axis = self._read_part(slicing) or {}, int(axes[0])
        taken = part.pop(axis, None)
        if taken is None or not _is_one(taken) or any(start or stop < END for start, stop in part.values()):
            return
        place = f"{node.output[0]}/place"
        self.home.initializer.append(helper.make_tensor(place, TensorProto.INT64, (), taken[:1]))
        gather = helper.make_node("Gather", [slicing.input[0], place], list(node.output), name=node.name, axis=axis)
        node.CopyFrom(gather)


def _is_one(part):
    """Whether a part of an axis is one place, from the front or the very last."""
    first, end = part
    return end == first + 1 and first >= 0 or first == -1 and end >= END
