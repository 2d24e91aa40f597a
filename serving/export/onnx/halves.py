"""Weights of a graph in 16 bits: a float16 initializer, and a Cast to float32 that reads it.

ONNX Runtime computes the Cast once, when a session is made, also in the bodies of loops, so a graph runs as fast as
before and gives the same results bit for bit. An initializer that float16 cannot hold exactly stays as it is.
"""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from serving.export.onnx.graphs import replace_nodes, walk
from serving.export.storage import is_exact

LEAST = 512  # bytes of float32; a Cast takes more room than it saves for smaller ones


def halve(model):
    """A version of an ONNX `ModelProto`, as a new model, with the exact float32 initializers in float16.

    Each gets another name, and a Cast in the same graph, be it the body of a loop, gets the old one, which the other
    nodes read.
    """
    model = onnx.ModelProto.FromString(model.SerializeToString())
    for graph in walk(model.graph):
        outputs = {value.name for value in graph.output}
        casts = []
        for tensor in graph.initializer:
            if tensor.data_type != TensorProto.FLOAT or tensor.name in outputs:
                continue
            values = numpy_helper.to_array(tensor)
            if values.nbytes < LEAST or not is_exact(values):
                continue
            name, stored = tensor.name, f"{tensor.name}/float16"
            tensor.CopyFrom(numpy_helper.from_array(values.astype(np.float16), stored))
            casts.append(helper.make_node("Cast", [stored], [name], f"{name}/Cast", to=TensorProto.FLOAT))
        if casts:
            replace_nodes(graph, [*casts, *graph.node])
    onnx.checker.check_model(model)
    return model
