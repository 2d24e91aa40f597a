"""Converts a TensorFlow function to an ONNX model. The model is loaded in onnxruntime once before it is written."""

import contextlib
import linecache
import logging
import sysconfig
from pathlib import Path
from unittest.mock import patch

import keras
import numpy as np
import tensorflow as tf
from onnx import helper
from tf2onnx import optimizer, tfonnx
from tf2onnx.graph import Graph
from tf2onnx.onnx_opset import controlflow
from tf2onnx.tf_utils import map_tf_dtype

from serving.export.onnx import handlers, loops
from serving.export.onnx.frozen import freeze, resolve_functions, restore
from serving.export.onnx.graphs import walk
from serving.export.onnx.operators import native_operators
from serving.export.onnx.recurrent import native_recurrent
from serving.export.onnx.weights import INSIDE
from serving.runtime.errors import ConversionError
from serving.runtime.sessions import open_graph, session_options
from zoo.core.storage import write_bytes

# Their lines are in every traceback and say nothing of the model.
LIBRARIES = tuple(Path(module.__file__).resolve().parent for module in (keras, tf))
SERVING = Path(__file__).resolve().parents[2]
PYTHON = Path(sysconfig.get_path("stdlib")).resolve()  # installed packages may lie below it
OPSET = 18  # the newest that tf2onnx writes
MICROSOFT = helper.make_opsetid("com.microsoft", 1)
# Those of tf2onnx's twelve optimisers that are needed; onnxruntime itself does what the others do.
OPTIMIZERS = {
    name: optimizer._optimizers[name]
    for name in (
        "optimize_transpose",
        "merge_duplication",
        "remove_identity",
        "remove_back_to_back",
    )
}


def convert(function, signature, weights=INSIDE):
    """Convert a function of tensors to an ONNX `ModelProto`.

    The graph is traced under `native()`, so that recurrent layers, attention, normalisation and look-ups become native
    operators (recurrent layers for **right-padded masks only**, see `recurrent`). The weights are taken out of the
    graph before tf2onnx runs (`frozen`), and `loops.optimize` makes them constants inside loops again. The result must
    pass ONNX' checker and load in onnxruntime before it is returned.

    Args:
        function: takes the signature's inputs by name and returns a dict by output name. It is traced without
            AutoGraph, so it must not have a Python `if` or `for` over tensors. A `tf.function` is traced again, so that
            no marker stays in its cache; a `tf.function` that it calls must not be used elsewhere.
        signature: `zoo.core.signatures.Signature`; its names become the ONNX names, and its named axes the dynamic
            dimensions.
        weights: where the arrays of the graph will be.

    Raises:
        ConversionError: an operation has no ONNX form, or the outputs disagree with the signature.
    """
    model = _to_onnx(_trace(function, signature), signature, weights)
    loops.optimize(model, weights)
    declare(model.graph, signature)
    _drop_unused_domains(model)
    weights.check(model)
    load(model, weights)
    return model


@contextlib.contextmanager
def native():
    """A context in which all layers with a native ONNX operator trace to it. For conversion only."""
    with native_recurrent(), native_operators():
        yield


def load(model, weights=INSIDE):
    """An onnxruntime session for a `ModelProto` whose arrays are in `weights`, one thread, CPU."""
    options = session_options(1)
    arrays = weights.give(options, model)  # noqa: F841  must live until the session is made
    return open_graph(model.SerializeToString(), options)


def write(model, path):
    """Write the model to `path`, which never holds an incomplete file."""
    write_bytes(path, model.SerializeToString())


def _trace(function, signature):
    python = getattr(function, "python_function", function)
    specs = [tf.TensorSpec(s.static_shape, s.dtype, name=s.name) for s in signature.inputs]
    names = [spec.name for spec in signature.inputs]

    def call(*tensors):
        return python(**dict(zip(names, tensors, strict=True)))

    with native(), tf.device("/cpu:0"):
        concrete = tf.function(call, autograph=False).get_concrete_function(*specs)
    _compare(concrete.structured_outputs, signature)
    return concrete


def _compare(outputs, signature):
    """Check that the traced outputs are those of the signature."""
    if not isinstance(outputs, dict) or outputs.keys() != {s.name for s in signature.outputs}:
        received = sorted(outputs) if isinstance(outputs, dict) else type(outputs).__name__
        raise ConversionError(
            f"Signature {signature.name!r} and function disagree: expected a dict of outputs "
            f"{[spec.name for spec in signature.outputs]}, received {received}."
        )
    for spec in signature.outputs:
        tensor = outputs[spec.name]
        same = tensor.dtype == spec.dtype and tensor.shape.is_compatible_with(spec.static_shape)
        if not same:
            raise ConversionError(
                f"Output {spec.name!r} of signature {signature.name!r} disagrees: expected "
                f"{spec.dtype} {spec.shape}, received {tensor.dtype.name} {tensor.shape}."
            )


def _to_onnx(concrete, signature, weights):
    inputs = [tensor.name for tensor in concrete.inputs[: len(signature.inputs)]]  # then captures
    outputs = {name: tensor.name for name, tensor in concrete.structured_outputs.items()}
    renames = dict(zip(inputs, (spec.name for spec in signature.inputs), strict=True))
    renames.update({tensor: name for name, tensor in outputs.items()})
    with (
        _errors_of_tf2onnx() as errors,
        patch.object(controlflow, "prefix_graph", _prefix_graph),
        patch.object(tfonnx, "resolve_functions", resolve_functions),
        patch.object(Graph, "extract_sub_graph_nodes", _find_needed),
        tf.device("/cpu:0"),
    ):
        frozen, values = freeze(concrete, inputs, outputs.values())
        with tf.Graph().as_default() as graph:
            tf.import_graph_def(frozen, name="")
            parsed = tfonnx.process_tf_graph(
                graph,
                opset=OPSET,
                extra_opset=[MICROSOFT],
                custom_op_handlers=handlers.HANDLERS,
                input_names=[*inputs, *values],
                output_names=list(outputs.values()),
                tensors_to_rename=renames,
                continue_on_error=True,
            )
        _refuse(errors, signature, concrete.graph)
        # `make_model` updates the proto at the end, once for all.
        with patch.object(Graph, "update_proto", lambda graph: None):
            parsed = optimizer.optimize_graph(parsed, catch_errors=False, optimizers=OPTIMIZERS)
        model = parsed.make_model(signature.name)
    restore(model, values, weights)
    return model


def _find_needed(graph, outputs_name, input_checker=None, remove_unused_inputs=True):
    """Replaces the method that finds the nodes behind outputs: the original walks through the graph for each output."""
    waiting = [*outputs_name, *(() if remove_unused_inputs else (each.output[0] for each in graph.inputs))]
    needed = set()
    while waiting:
        node = graph.get_node_by_output(waiting.pop(), search_in_parent_graphs=False)
        if node and node not in needed and (input_checker is None or input_checker(node) is not False):
            needed.add(node)
            waiting += [*node.input, *node.get_implicit_inputs()]
    return [node for node in graph.get_nodes() if node in needed]


def _prefix_graph(graph, scope, rename=controlflow.prefix_graph):
    """Replaces the function that renames the nodes of a branch: the original loses the domain of the operators."""
    domains = [node.domain for node in graph.get_nodes() if not node.is_graph_input()]
    rename(graph, scope)
    nodes = [node for node in graph.get_nodes() if not node.is_graph_input()]
    for node, domain in zip(nodes, domains, strict=True):
        node.domain = domain


@contextlib.contextmanager
def _errors_of_tf2onnx():
    """A context that yields a list of the errors that tf2onnx logs, since it continues after an error."""
    logger, errors = logging.getLogger("tf2onnx"), []
    handler = logging.Handler(logging.ERROR)
    handler.emit = errors.append
    before = logger.propagate, logger.level
    logger.propagate = False
    logger.setLevel(logging.ERROR)
    logger.addHandler(handler)
    try:
        yield errors
    finally:
        logger.removeHandler(handler)
        logger.propagate, logger.level = before


def _refuse(errors, signature, graph):
    """Raise for the errors that tf2onnx only logged, with the place of each operation in the Python code."""
    if not errors:
        return
    unmapped = sorted({log.args[1] for log in errors if log.msg.startswith("Tensorflow op")})
    failed = [str(log.exc_info[1]) for log in errors if log.exc_info]
    places = {kind: find_place(graph, kind) for kind in unmapped}
    kinds = [f"{kind} ({found})" if found else kind for kind, found in places.items()]
    raise ConversionError(
        f"Signature {signature.name!r} cannot be exported: expected operations with an ONNX form, "
        f"received {', '.join([*kinds, *failed]) or errors[0].getMessage()}. Write the model "
        "without them or give them a handler."
    )


def declare(graph, signature):
    """Set the names, dtypes and axes of the graph's inputs and outputs to those of the signature.

    An input with a default has it as an initializer of one row, which holds where no other value is given.
    """
    for values, specs in ((graph.input, signature.inputs), (graph.output, signature.outputs)):
        del values[:]
        for spec in specs:
            dtype = map_tf_dtype(tf.as_dtype(spec.dtype))
            values.append(helper.make_tensor_value_info(spec.name, dtype, spec.shape))
            if spec.default is not None:
                row = np.array(spec.default)
                graph.initializer.append(helper.make_tensor(spec.name, dtype, row.shape, row.ravel()))


def _drop_unused_domains(model):
    used = {node.domain for graph in walk(model.graph) for node in graph.node} | {""}
    opsets = [opset for opset in model.opset_import if opset.domain in used]
    del model.opset_import[:]
    model.opset_import.extend(opsets)


def find_place(graph, kind):
    """`"file:line, code"` of the first operation of a kind that TensorFlow knows the place of, or None.

    The place is the innermost line that is neither of Python, Keras and TensorFlow nor of `serving`.
    """
    places = (place(operation) for operation in operations(graph) if operation.type == kind)
    return next(filter(None, places), None)


def operations(graph, seen=()):
    """The operations of a graph and of the functions that it calls, as far as they were traced with it."""
    yield from graph.get_operations()
    for function in getattr(graph, "_functions", {}).values():
        inner = getattr(function, "graph", None)
        if inner is not None and inner not in seen:
            yield from operations(inner, (*seen, graph))


def place(operation):
    """`"file:line, code"` of one operation; None where no line of it is of the model."""
    for frame in reversed(list(operation.traceback or ())):
        if not is_foreign(frame.filename):
            return f"{frame.filename}:{frame.lineno}, {linecache.getline(frame.filename, frame.lineno).strip()!r}"
    return None


def is_foreign(filename):
    """Whether a file is not one of the model's: of Python, Keras, TensorFlow or `serving`."""
    path = Path(filename).resolve()
    of_python = path.is_relative_to(PYTHON) and not {"site-packages", "dist-packages"} & set(path.parts)
    return filename.startswith("<") or of_python or any(map(path.is_relative_to, (*LIBRARIES, SERVING)))
