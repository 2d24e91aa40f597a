"""Weights of a graph in 16 or 8 bits: a narrower initializer, and nodes that make float32 of it.

ONNX Runtime computes these nodes once, when a session is made, also in the bodies of loops, so a graph runs as fast as
before and gives the same results bit for bit. An initializer that a format cannot hold exactly stays as it is.
"""

import copy

import numpy as np
from onnx import TensorProto, helper

from serving.export.onnx.graphs import replace_nodes, walk
from serving.export.onnx.weights import INSIDE
from serving.export.storage import is_exact, split_steps

STEPS = "/steps"  # ends the name of the powers of two, which stay as they are
LEAST = 512  # bytes of float32; the nodes take more room than they save for smaller ones


def narrow(model, storage, weights=INSIDE):
    """A version of an ONNX `ModelProto`, as a new model, with float32 initializers in fewer bits where they are exact.

    Each gets another name, and a node in the same graph, be it the body of a loop, gets the old one, which the other
    nodes read: a Cast of float16, or the product of a Cast of int8 and of powers of two.

    Args:
        model: the model, which is not changed.
        storage: "float16"; or "int8", which is int8 where eight bits and a power of two for each index of one axis
            suffice (`serving.export.storage.split_steps`), and else float16.
        weights: where the arrays of the model are, and those of the new one will be.
    """
    model = copy.deepcopy(model)
    for graph in walk(model.graph):
        outputs = {value.name for value in graph.output}
        tensors = [tensor for tensor in graph.initializer if tensor.name not in outputs]
        nodes = [node for tensor in tensors for node in _narrow_tensor(graph, tensor, storage, weights)]
        if nodes:
            replace_nodes(graph, [*nodes, *graph.node])
    weights.check(model)
    return model


def _narrow_tensor(graph, tensor, storage, weights):
    """The nodes that compute what the initializer was; none if it is still what it was."""
    if tensor.data_type != TensorProto.FLOAT or tensor.name.endswith(STEPS):
        return []
    name, values = tensor.name, weights.array(tensor)
    if values.nbytes < LEAST:
        return []
    parts = split_steps(values) if storage == "int8" and values.ndim > 1 else None
    if parts:
        numbers = weights.tensor(parts[0], f"{name}/int8")
        steps = weights.tensor(parts[1], name + STEPS)
        tensor.CopyFrom(numbers)
        graph.initializer.append(steps)
        cast = _cast(numbers.name, f"{numbers.name}/float32")
        return [cast, helper.make_node("Mul", [cast.output[0], steps.name], [name], f"{name}/Mul")]
    if is_exact(values):
        tensor.CopyFrom(weights.tensor(values.astype(np.float16), f"{name}/float16"))
        return [_cast(tensor.name, name)]
    return []


def _cast(source, target):
    return helper.make_node("Cast", [source], [target], f"{target}/Cast", to=TensorProto.FLOAT)
