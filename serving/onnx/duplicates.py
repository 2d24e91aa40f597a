"""One value, one name: equal small constants and equal nodes of a graph are merged, in its bodies as well.

A model asks for the same shape, mask or index in every layer. onnxruntime merges nodes, too, but never constants, so it
cannot see that nodes are equal that read different copies of the number 0.
"""

from onnx import numpy_helper

from serving.onnx.graphs import RANDOM, bodies, drop_unread_initializers, rename_reads, replace_nodes

SMALL = 1024  # bytes of a constant that is compared with others


def merge_duplicates(graph, known=None):
    """Merge in the graph, whose nodes are sorted, and in every graph inside it."""
    known = dict(known or {})  # what a node or a constant is -> the name of its value
    _merge_constants(graph, known)
    outputs = {value.name for value in graph.output}
    names, kept = {}, []
    for node in graph.node:
        node.input[:] = [names.get(name, name) for name in node.input]
        for body in bodies(node):
            rename_reads(body, names)
            merge_duplicates(body, known)
        key = _key(node)
        first = known.setdefault(key, list(node.output)) if key else list(node.output)
        if first == list(node.output) or outputs.intersection(node.output):
            kept.append(node)
        else:
            names.update(zip(node.output, first, strict=True))
    replace_nodes(graph, kept)


def _key(node):
    """Equal for nodes of equal values; None for a node that must stay."""
    if bodies(node) or node.op_type in RANDOM:
        return None
    attributes = sorted(attribute.SerializeToString() for attribute in node.attribute)
    return node.domain, node.op_type, tuple(node.input), tuple(attributes), tuple(map(bool, node.output))


def _merge_constants(graph, known):
    names = {}
    for tensor in graph.initializer:
        value = numpy_helper.to_array(tensor)
        if value.nbytes <= SMALL and value.dtype != object:
            (first,) = known.setdefault((value.dtype.str, value.shape, value.tobytes()), [tensor.name])
            names[tensor.name] = first
    rename_reads(graph, names)
    drop_unread_initializers(graph)
