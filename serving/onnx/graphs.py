"""Reading and rewriting of ONNX graphs that hold graphs: names, scopes, order."""

from graphlib import TopologicalSorter

from onnx import AttributeProto, helper

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


def bodies(node):
    """The sub-graphs of a Loop, If or Scan; none for other nodes."""
    return [attribute.g for attribute in node.attribute if attribute.type == AttributeProto.GRAPH]


def walk(graph):
    """The graph and, depth first, every graph inside it."""
    yield graph
    for node in graph.node:
        for body in bodies(node):
            yield from walk(body)


def defined(graph):
    """Names the graph itself gives a value to."""
    names = {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}
    return names.union(*(node.output for node in graph.node)) - {""}


def reads(node):
    """Names a node needs, those captured by its bodies included."""
    return set(node.input).union(*(captured(body) for body in bodies(node))) - {""}


def captured(graph):
    """Names a body takes from the graphs around it."""
    used = {output.name for output in graph.output}.union(*(reads(node) for node in graph.node))
    return used - defined(graph)


def replace_nodes(graph, nodes):
    """Set the graph's nodes. Protobuf copies them: bodies looked up before are stale afterwards."""
    nodes = list(nodes)
    del graph.node[:]
    graph.node.extend(nodes)


def drop_unread_initializers(graph):
    needed = {value.name for value in graph.output}.union(*(reads(node) for node in graph.node))
    useful = [tensor for tensor in graph.initializer if tensor.name in needed]
    del graph.initializer[:]
    graph.initializer.extend(useful)


def rename_reads(graph, names):
    """Let every node of the graph and of its bodies read `names[old]` instead of `old`."""
    for inner in walk(graph):
        for node in inner.node:
            node.input[:] = [names.get(name, name) for name in node.input]


def keep_outputs(graph, names):
    """Define outputs that were renamed away again, as copies: a graph must own its outputs."""
    for old in {output.name for output in graph.output} & names.keys():
        graph.node.append(helper.make_node("Identity", [names[old]], [old]))


def unique_names(graph, scope=None, taken=None):
    """Give every value one name in the whole model, so that it may move from graph to graph.

    The names of the outermost graph, its inputs and outputs among them, stay as they are.
    """
    taken = set() if taken is None else taken
    scope = dict(scope or {})
    for name in sorted(defined(graph)):
        fresh, count = name, 0
        while fresh in taken:
            count += 1
            fresh = f"{name}__{count}"
        scope[name] = fresh
        taken.add(fresh)
    for value in (*graph.input, *graph.initializer, *graph.output):
        value.name = scope.get(value.name, value.name)
    for node in graph.node:
        node.input[:] = [scope.get(name, name) for name in node.input]
        node.output[:] = [scope.get(name, name) for name in node.output]
        for body in bodies(node):
            unique_names(body, scope, taken)


def sort_nodes(graph):
    """Put the nodes of the graph, and of every graph inside it, in topological order."""
    for inner in walk(graph):
        owner = {name: index for index, node in enumerate(inner.node) for name in node.output}
        needs = {
            index: [owner[name] for name in sorted(reads(node)) if name in owner]
            for index, node in enumerate(inner.node)
        }
        order = TopologicalSorter(needs).static_order()
        replace_nodes(inner, [inner.node[index] for index in order])
