"""Makes the loops that tf2onnx writes fast: weights become constants again, and nothing is computed repeatedly.

tf2onnx turns every tensor that a `tf.while_loop` captures, including weights, into a state of the loop that never
changes. onnxruntime can neither prepack nor fuse nor quantise such a state. `optimize` runs

    declare -> unique names -> lift -> decarry -> widen -> hoist -> merge -> fold -> shorten -> prune -> sink -> sort

on the outermost graph and on bodies nested to any depth. The results of the graph do not change.
"""

from onnx.external_data_helper import uses_external_data

from serving.export.onnx.graphs import (
    RANDOM,
    bodies,
    captured_names,
    drop_unread_initializers,
    keep_outputs,
    opset_of,
    read_names,
    rename_reads,
    replace_nodes,
    sort_nodes,
    unique_names,
    walk,
)
from serving.export.onnx.integers import widen
from serving.export.onnx.simplify import fold_constants, merge_duplicates, shorten
from serving.export.onnx.weights import INSIDE

# What costs next to nothing and does not fail on the values of the branches that our own code writes.
HARMLESS = set(
    "Add And Cast Equal Greater GreaterOrEqual Less LessOrEqual Max Min Mul Not Or Range Sub Unsqueeze Where".split()
)


def optimize(model, weights=INSIDE):
    """Run all passes on an ONNX `ModelProto`, whose arrays are in `weights`, in place, and return it."""
    graph = model.graph
    for inner in walk(graph):
        del inner.value_info[:]  # the names will change; onnxruntime infers shapes itself
    declare_counters(graph)
    unique_names(graph)
    lift_initializers(graph)
    sort_nodes(graph)
    decarry(graph)
    sort_nodes(graph)
    widen(graph, weights)
    sort_nodes(graph)
    hoist(graph)
    merge_duplicates(graph)
    fold_constants(graph, opset_of(model), weights=weights)
    shorten(graph, weights)
    prune(graph)
    sink_transposes(graph)
    sink_initializers(graph)
    sort_nodes(graph)
    return model


def declare_counters(graph):
    """Declare that the first two inputs of a loop body, the iteration number and the condition, are scalars.

    tf2onnx does not declare it if the body contains conditions, and onnxruntime then refuses to run the loop.
    """
    for inner in walk(graph):
        for node in inner.node:
            if node.op_type == "Loop":
                for value in bodies(node)[0].input[:2]:
                    value.type.tensor_type.shape.SetInParent()


def lift_initializers(graph):
    """Move the constants of every body, including Constant nodes, to the outermost graph."""
    for inner in walk(graph):
        outputs = {value.name for value in inner.output}
        nodes = []
        for node in inner.node:
            movable = node.op_type == "Constant" and node.attribute[0].name == "value"
            if movable and node.output[0] not in outputs:
                tensor = graph.initializer.add()
                tensor.CopyFrom(node.attribute[0].t)
                tensor.name = node.output[0]
            else:
                nodes.append(node)
        replace_nodes(inner, nodes)
        if inner is not graph:
            tensors = list(inner.initializer)
            del inner.initializer[:]
            for tensor in tensors:
                home = inner if tensor.name in outputs else graph
                home.initializer.append(tensor)


def decarry(graph):
    """Remove each state of a loop that the body returns unchanged. The body reads the outer tensor instead."""
    for node in list(graph.node):
        for body in bodies(node):
            decarry(body)
        if node.op_type == "Loop":
            _decarry_loop(graph, node)


def _decarry_loop(graph, node):
    (body,) = bodies(node)
    copies = {copy.output[0]: copy.input[0] for copy in body.node if copy.op_type == "Identity"}
    inside, outside, dropped = {}, {}, []
    for state, start in enumerate(node.input[2:]):
        source = body.output[1 + state].name
        while source in copies:
            source = copies[source]
        if source == body.input[2 + state].name:
            dropped.append(state)
            inside[source] = start
            outside[node.output[state]] = start
    for state in reversed(dropped):
        del node.input[2 + state], node.output[state]
        del body.input[2 + state], body.output[1 + state]
    outside.pop("", None)
    rename_reads(body, inside)
    keep_outputs(body, inside)
    rename_reads(graph, outside)
    keep_outputs(graph, outside)


def hoist(graph):
    """Move nodes of a loop body that do not depend on the loop to the graph around it.

    Nodes of a branch in the body move, too, where they are `HARMLESS`: they are then computed whether or not the branch
    is taken.
    """
    hoisted = []
    for node in graph.node:
        for body in bodies(node):
            hoist(body)
        if node.op_type == "Loop":
            hoisted.extend(_take_invariant(bodies(node)[0]))
    graph.node.extend(hoisted)
    sort_nodes(graph)


def _take_invariant(body, around=frozenset(), only=None):
    """Take the nodes out of a body, or a branch of one, that depend neither on it nor on the names `around` it."""
    outputs = {value.name for value in body.output}
    variant = {value.name for value in body.input} | {tensor.name for tensor in body.initializer} | around
    moved, remaining = [], []
    for node in body.node:
        if node.op_type == "If":
            moved += [each for branch in bodies(node) for each in _take_invariant(branch, variant, HARMLESS)]
        is_pinned = node.op_type in RANDOM or outputs.intersection(node.output) or (only and node.op_type not in only)
        if is_pinned or variant & read_names(node):
            remaining.append(node)
            variant.update(node.output)
        else:
            moved.append(node)
    replace_nodes(body, remaining)
    return moved


def prune(graph):
    """Remove nodes, states of loops, scan outputs and initializers that are not used."""
    sort_nodes(graph)
    needed = {value.name for value in graph.output}
    nodes = []
    for node in reversed(graph.node):
        if not needed.intersection(node.output):
            continue
        if node.op_type == "Loop":
            _prune_loop(node, needed)
        for body in bodies(node):
            prune(body)
        nodes.append(node)
        needed |= read_names(node)
    replace_nodes(graph, reversed(nodes))
    drop_unread_initializers(graph)


def _prune_loop(node, needed):
    (body,) = bodies(node)
    states = len(node.input) - 2
    live = {index for index, name in enumerate(node.output) if name in needed}
    while True:
        roots = [body.output[0].name, *(body.output[1 + index].name for index in live)]
        names_read = _upstream(body, roots)
        more = {state for state in range(states) if body.input[2 + state].name in names_read} - live
        if not more:
            break
        live |= more
    for index in sorted(set(range(len(node.output))) - live, reverse=True):
        del node.output[index], body.output[1 + index]
        if index < states:
            del node.input[2 + index], body.input[2 + index]


def _upstream(graph, names):
    """All names on which the given names depend. The nodes must be in topological order."""
    names = set(names)
    for node in reversed(graph.node):
        if names.intersection(node.output):
            names |= read_names(node)
    return names


def sink_transposes(graph):
    """Move each transpose of a constant, that only a loop inside a loop reads, into the loop around this one.

    onnxruntime folds it there, and prepacks a matrix only if it is in the graph directly around the body that reads it.
    """
    constants = {tensor.name for tensor in graph.initializer}
    own_reads = {value.name for value in graph.output}.union(*(node.input for node in graph.node))
    inner = [
        (body, captured_names(body), set().union(*(node.input for node in body.node)))
        for node in graph.node
        for body in bodies(node)
    ]
    nodes = []
    for node in graph.node:
        users = [(body, read) for body, names, read in inner if node.output and node.output[0] in names]
        is_transpose = node.op_type == "Transpose" and node.input[0] in constants and node.output[0] not in own_reads
        if is_transpose and len(users) == 1 and node.output[0] not in users[0][1]:
            users[0][0].node.append(node)
        else:
            nodes.append(node)
    replace_nodes(graph, nodes)


def sink_initializers(graph):
    """Move each initializer into the innermost body that contains all nodes that read it.

    onnxruntime prepacks a captured weight only if it is in the graph directly around the body. Those whose array is not
    in the graph stay where they are, because onnxruntime reads them in the outermost graph alone.
    """
    inner = [(body, captured_names(body)) for node in graph.node for body in bodies(node)]
    own_reads = {value.name for value in graph.output}.union(*(node.input for node in graph.node))
    stay = []
    for tensor in graph.initializer:
        users = [body for body, names in inner if tensor.name in names]
        if len(users) == 1 and tensor.name not in own_reads and not uses_external_data(tensor):
            users[0].initializer.append(tensor)
        else:
            stay.append(tensor)
    del graph.initializer[:]
    graph.initializer.extend(stay)
    for body, _ in inner:
        sink_initializers(body)
