"""Merges equal small constants and equal nodes of a graph, also in the bodies of loops and conditions.

A model computes the same shape, mask or index in every layer. onnxruntime also merges equal nodes, but not constants,
so it does not recognise nodes as equal if they read different copies of the number 0.
"""

from onnx import numpy_helper
from onnx.external_data_helper import uses_external_data

from serving.export.onnx.graphs import RANDOM, bodies, drop_unread_initializers, rename_reads, replace_nodes

SMALL = 1024  # bytes of a constant that is compared with others


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
