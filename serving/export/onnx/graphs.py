"""Functions to read and rewrite ONNX graphs with nested graphs: names, scopes, the order of nodes, what runs them."""

import copy
import itertools
from graphlib import TopologicalSorter

from onnx import AttributeProto, helper
from onnx.external_data_helper import ExternalDataInfo, uses_external_data

# The oldest ONNX Runtime that was measured, and the oldest whose MultiHeadAttention honours masks: 1.20 loads every
# graph, and silently gives wrong results for masks of several rows (benchmarks/onnxruntime_versions.py).
OLDEST, MASKED = "1.20", "1.21"
MASKS = (4, 5)  # inputs of com.microsoft::MultiHeadAttention: key_padding_mask, attention_bias
SHORT = 16  # characters of a name inside a body
RANDOM = {
    "Bernoulli",
    "Multinomial",
    "RandomNormal",
    "RandomNormalLike",
    "RandomUniform",
    "RandomUniformLike",
}


def opset_of(model):
    """Version of the ONNX operators that a `ModelProto` uses."""
    return next(opset.version for opset in model.opset_import if not opset.domain)


def requirements(model):
    """`{"opset", "operators", "onnxruntime"}` of a `ModelProto`, and `weights`, the file of those that are not in it.

    Operators outside ONNX are given as "domain::name"; "onnxruntime" is the oldest that gives correct results.
    """
    nodes = [node for graph in walk(model.graph) for node in graph.node]
    custom = sorted({f"{node.domain}::{node.op_type}" for node in nodes if node.domain not in ("", "ai.onnx")})
    weights = {ExternalDataInfo(tensor).location for tensor in model.graph.initializer if uses_external_data(tensor)}
    return {
        "opset": opset_of(model),
        "operators": custom,
        "onnxruntime": MASKED if any(map(_has_mask, nodes)) else OLDEST,
    } | dict.fromkeys(["weights"] * len(weights), *weights)


def _has_mask(node):
    return node.op_type == "MultiHeadAttention" and any(
        node.input[index : index + 1] not in ([], [""]) for index in MASKS
    )


def bodies(node):
    """The sub-graphs of a Loop, If or Scan; none for other nodes."""
    return [attribute.g for attribute in node.attribute if attribute.type == AttributeProto.GRAPH]


def walk(graph):
    """The graph and, in depth-first order, every graph inside it."""
    yield graph
    for node in graph.node:
        for body in bodies(node):
            yield from walk(body)


def defined_names(graph):
    """The names of all values that the graph itself defines."""
    names = {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}
    return names.union(*(node.output for node in graph.node)) - {""}


def read_names(node):
    """The names that a node reads, including those that its bodies capture."""
    return set(node.input).union(*(captured_names(body) for body in bodies(node))) - {""}


def required_inputs(graph):
    """The names of the inputs that must be fed: those that no initializer gives a value."""
    initialised = {tensor.name for tensor in graph.initializer}
    return [value.name for value in graph.input if value.name not in initialised]


def captured_names(graph):
    """The names that a body reads from the graphs around it."""
    return _used_names(graph) - defined_names(graph)


def _used_names(graph):
    """The names of the graph's outputs and of all that its nodes read."""
    return {value.name for value in graph.output}.union(*(read_names(node) for node in graph.node))


def cast(source, target, kind):
    """A node that makes the value `target` of the value `source`, of a type of `TensorProto`."""
    return helper.make_node("Cast", [source], [target], f"{target}/Cast", to=kind)


def replace_nodes(graph, nodes):
    """Set the graph's nodes. Protobuf copies them, so bodies that were looked up before must be looked up again."""
    nodes = list(nodes)
    del graph.node[:]
    graph.node.extend(nodes)


def drop_unread_initializers(graph):
    used = _used_names(graph)
    useful = [tensor for tensor in graph.initializer if tensor.name in used]
    del graph.initializer[:]
    graph.initializer.extend(useful)


def rename_reads(graph, names):
    """Let every node of the graph and of its bodies read `names[old]` instead of `old`."""
    for inner in walk(graph):
        for node in inner.node:
            node.input[:] = [names.get(name, name) for name in node.input]


def keep_outputs(graph, names):
    """Define renamed outputs of the graph again, as copies, because a graph must define its own outputs."""
    for old in {output.name for output in graph.output} & names.keys():
        graph.node.append(helper.make_node("Identity", [names[old]], [old]))


def unique_names(graph, scope=None, used=None):
    """Make the name of every value unique in the whole model, so that nodes can move from one graph to another.

    The names in the outermost graph, including its inputs and outputs, do not change. In graphs inside it they become
    short: those that tf2onnx gives grow with the depth, and were a tenth of a file.
    """
    is_inner, used = used is not None, set() if used is None else used
    scope = dict(scope or {})
    for name in sorted(defined_names(graph)):
        fresh = short = name[-SHORT:] if is_inner else name
        count = 0
        while fresh in used:
            count += 1
            fresh = f"{short}__{count}"
        scope[name] = fresh
        used.add(fresh)
    for value in (*graph.input, *graph.initializer, *graph.output):
        value.name = scope.get(value.name, value.name)
    for node in graph.node:
        node.input[:] = [scope.get(name, name) for name in node.input]
        node.output[:] = [scope.get(name, name) for name in node.output]
        node.name = "" if is_inner else node.name  # no two may be equal, and nobody reads them
        for body in bodies(node):
            unique_names(body, scope, used)


def sort_nodes(graph):
    """Put the nodes of the graph, and of every graph inside it, in topological order."""
    for inner in walk(graph):
        owner = {name: index for index, node in enumerate(inner.node) for name in node.output}
        needs = {
            index: [owner[name] for name in sorted(read_names(node)) if name in owner]
            for index, node in enumerate(inner.node)
        }
        order = TopologicalSorter(needs).static_order()
        replace_nodes(inner, [inner.node[index] for index in order])


def compact(model):
    """A copy of a `ModelProto` whose inputs and outputs have the names of before, other values short ones, nodes none.

    No value may have the name of another, as after `serving.export.onnx.loops.optimize`; what the graph computes, and
    the order of its nodes, stay as they are.
    """
    model = copy.deepcopy(model)
    outer_names = {value.name for value in (*model.graph.input, *model.graph.output)} | {""}
    fresh = (name for name in (f"v{number}" for number in itertools.count()) if name not in outer_names)
    names = dict(zip(outer_names, outer_names, strict=True))

    def short(name):
        if name not in names:
            names[name] = next(fresh)
        return names[name]

    for number, graph in enumerate(walk(model.graph)):
        del graph.value_info[:]
        if number:
            graph.name = f"body{number}"
        for value in (*graph.input, *graph.initializer, *graph.output):
            value.name = short(value.name)
        for node in graph.node:
            node.ClearField("name")
            node.input[:] = [short(name) for name in node.input]
            node.output[:] = [short(name) for name in node.output]
    return model
