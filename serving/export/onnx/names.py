"""Short names for a graph that is written: those that TensorFlow gives take more room than nodes of a small model."""

import itertools

import onnx

from serving.export.onnx.graphs import walk


def compact(model):
    """A copy of a `ModelProto` whose inputs and outputs have the names of before, other values short ones, nodes none.

    No value may have the name of another, as after `serving.export.onnx.loops.optimize`; what the graph computes, and
    the order of its nodes, stay as they are.
    """
    model = onnx.ModelProto.FromString(model.SerializeToString())
    kept = {value.name for value in (*model.graph.input, *model.graph.output)} | {""}
    fresh = (name for name in (f"v{number}" for number in itertools.count()) if name not in kept)
    names = dict(zip(kept, kept, strict=True))

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
