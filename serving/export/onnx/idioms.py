"""Shorter nodes for what tf2onnx writes in several: it translates each TensorFlow operation by itself.

    Slice(x), all of it                             -> x
    Squeeze(Slice(x, [s], [s + 1], [axis]), [axis]) -> Gather(x, s, axis)
    Not(Not(x))                                     -> x

A step of a search has several of them, and each node of a small model costs as much as its numbers.
"""

import numpy as np
from onnx import TensorProto, helper
from onnx.external_data_helper import uses_external_data

from serving.export.onnx.graphs import rename_reads, walk
from serving.export.onnx.weights import INSIDE

END = 10**9  # from which on the end of a slice means the end of the axis: that of Keras, and that of TensorFlow
SMALL = 64  # numbers at most of a constant that says which part is taken


def shorten(graph, weights=INSIDE):
    """Rewrite the nodes of the graph, whose constants are in it, and of every graph inside it; nothing is pruned."""
    constants = {
        each.name: weights.array(each)
        for each in graph.initializer
        if not uses_external_data(each) and np.prod(each.dims) <= SMALL
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
