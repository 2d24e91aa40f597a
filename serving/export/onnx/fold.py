"""Constant folding: replaces nodes that depend only on constants, such as the transpose of a weight, by their results.

onnxruntime folds constants, too, but only when it loads the model. This is too late for the quantiser and for
`sink_initializers`, which both look for initializers.
"""

from collections import Counter

import numpy as np
from onnx import helper
from onnx.reference import ReferenceEvaluator

from serving.export.onnx.graphs import RANDOM, bodies, read_names, replace_nodes
from serving.export.onnx.weights import INSIDE

SMALL = 4096  # bytes by which folding a node may always enlarge the file


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
            if added > freed + SMALL and node.op_type not in whatever_it_costs:
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
