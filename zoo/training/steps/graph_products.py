"""`zoo.training.steps.products` on TensorFlow: the graph of a step, whose bfloat16 products are summed in float32.

The nodes of a traced step, gradients and the bodies of loops with them, are written again: a product of two bfloat16
matrices asks for float32, and a cast behind it rounds. What is widened again is not rounded.

The gradient of a matrix, `x^T dy`, needs more: of a factor that is read transposed, XLA makes float32 after all. So it
is turned first, in a conditional whose answer XLA cannot know, because otherwise it would put the two together again.
"""

import weakref

import tensorflow as tf
from tensorflow.python.eager import context

NARROW, WIDE = tf.bfloat16.as_datatype_enum, tf.float32.as_datatype_enum
TURNED = {"MatMul": ("transpose_a", "transpose_b"), "BatchMatMulV2": ("adj_x", "adj_y")}  # which factors are
SUFFIX = "_summed_in_float32"  # of names: of products, and of the functions of loops
UNKNOWN = "never" + SUFFIX  # a bool that is False, as XLA does not know


def summed_in_float32(function):
    """The function of a dict of tensors, for `tf.function` with `jit_compile`; it is not meant to be differentiated.

    The graph that is traced has an attribute `as_written`, the one it was made from.
    """

    def rewritten(batch):
        traced = tf.function(function, autograph=False).get_concrete_function(batch)
        graph = _widened(traced.graph.as_graph_def(), {each.op.name for each in traced.inputs})
        here = tf.compat.v1.get_default_graph()
        for each in graph.library.function:
            context.context().add_function_def(each)
            weakref.finalize(here, context.context().remove_function, each.signature.name)
        here.as_written = traced.graph
        given = [*tf.nest.flatten(batch), *map(here.capture, traced.captured_inputs)]
        given = {each.name: value for each, value in zip(traced.inputs, given, strict=True)}
        given[f"{UNKNOWN}:0"] = tf.reduce_max(tf.cast(next(iter(batch.values())), tf.float32)) == float("inf")
        read = {name.partition(":")[0] for node in graph.node for name in node.input}
        found = tf.graph_util.import_graph_def(
            graph,
            input_map={name: value for name, value in given.items() if name.partition(":")[0] in read},
            return_elements=[each.name for each in traced.outputs],
            name="",
        )
        return tf.nest.pack_sequence_as(traced.structured_outputs, found)

    return rewritten


def _widened(graph, inputs):
    """The graph without the nodes of these inputs, its products and those in its functions written again."""
    nodes = [node for node in graph.node if node.name not in inputs]
    for node in nodes:  # what stands on the device of an input, or waits for one
        node.attr.pop("_class", None)
        node.input[:] = [name for name in node.input if not (name[0] == "^" and name[1:] in inputs)]
    del graph.node[:]
    graph.node.extend(nodes)
    _rewrite(graph.node)
    names = {each.signature.name: each.signature.name + SUFFIX for each in graph.library.function}
    for each in graph.library.function:
        each.signature.name = names[each.signature.name]
        products = _rewrite(each.node_def, inside=True)
        for node in each.node_def:
            node.input[:] = [_reference(name, products) for name in node.input]
        for name, value in each.ret.items():
            each.ret[name] = _reference(value, products)
    for node in [*graph.node, *(node for each in graph.library.function for node in each.node_def)]:
        for value in node.attr.values():
            for called in [value.func] if value.HasField("func") else value.list.func:
                called.name = names.get(called.name, called.name)
    turned = tf.function(_turned_product, autograph=False).get_concrete_function(
        *[tf.TensorSpec((None, None), tf.bfloat16)] * 2, tf.TensorSpec((), tf.bool)
    )
    graph.library.function.extend([turned.function_def, *turned.graph.as_graph_def().library.function])
    for node in graph.node:
        if node.op == "PartitionedCall" and node.attr["f"].func.name == SUFFIX:
            node.attr["f"].func.name = turned.function_def.signature.name
    return graph


def _turned_product(x, y, unknown):
    """`x^T y`, in float32."""
    x = tf.cond(unknown, lambda: tf.transpose(x) + 1, lambda: tf.transpose(x))
    return tf.matmul(x, y, output_type=tf.float32)


def _rewrite(nodes, inside=False):
    """Replace the products among the nodes of a graph, or of a function if they are `inside` of one; their names."""
    products = {each.name for each in nodes if each.op in TURNED and each.attr["T"].type == NARROW}
    output = ":output:0" if inside else ""
    for node in list(nodes):
        if node.name in products:
            wide = nodes.add(name=node.name + SUFFIX, input=node.input)
            turned = [node.attr[name].b for name in TURNED[node.op]]
            if turned == [True, False] and node.op == "MatMul" and not inside:
                wide.op, wide.input[:] = "PartitionedCall", [*node.input[:2], UNKNOWN, *node.input[2:]]
                wide.attr["f"].func.name = SUFFIX
                wide.attr["Tin"].list.type.extend([NARROW, NARROW, tf.bool.as_datatype_enum])
                wide.attr["Tout"].list.type.append(WIDE)
            else:
                wide.op = "BatchMatMulV3"
                wide.attr["adj_x"].b, wide.attr["adj_y"].b = turned
                wide.attr["Ta"].type = wide.attr["Tb"].type = NARROW
                wide.attr["Tout"].type = WIDE
            _become_cast(node, wide.name + output, SrcT=WIDE, DstT=NARROW)
        elif node.op == "Cast" and node.attr["SrcT"].type == NARROW and node.attr["DstT"].type == WIDE:
            name = node.input[0].partition(":")[0]
            if name in products:
                _become_cast(node, name + SUFFIX + output, SrcT=WIDE, DstT=WIDE)
    return products


def _become_cast(node, read, **types):
    waits = [name for name in node.input if name.startswith("^")]
    node.op, node.input[:] = "Cast", [read, *waits]
    node.attr.clear()
    for name, value in types.items():
        node.attr[name].type = value


def _reference(name, products):
    """The name of an output inside a function: that of a product is now that of a cast."""
    node, colon, _ = name.partition(":")
    return f"{node}:y:0" if colon and node in products else name
