"""Finds the files in which an ONNX model keeps tensors, without the package onnx.

ONNX Runtime opens the files that a model names; for a model given as bytes it looks for them in the working folder. So
a graph of an artefact may name one file, the one that its manifest names, whose bytes are given to ONNX Runtime.

The model is parsed as the numbered fields of protobuf. The numbers are those of onnx.proto, and only messages that can
hold a tensor are parsed further.
"""

from serving.lazy import later
from serving.runtime.manifest_format import weight_files

protobuf = later("zoo.text.protobuf")  # a process that checks parity must not import zoo
EXTERNAL = 1  # of TensorProto.data_location
INSIDE = {  # message -> number of a field -> the message in this field
    "model": {7: "graph", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "function": {7: "node", 11: "attribute"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
}
NESTING = 64


def weights_files(content, manifest, name):
    """The names of the files, one or none, with the weights of the graph `name`, whose bytes are `content`.

    Raises:
        ValueError: the bytes are not a model, or it names other files than the manifest does.
    """
    names = weight_files(manifest, name)
    others = external_files(content) ^ set(names)
    if others:
        raise ValueError(f"it keeps tensors in other files than the manifest says: {', '.join(sorted(others))}")
    return names


def external_files(content):
    """The set of the files that tensors of the model in `content`, bytes, are stored in; "" for one without a name.

    Raises:
        ValueError: the bytes are not a model in protobuf's format.
    """
    files, waiting = set(), [("model", memoryview(content), 0)]
    while waiting:
        message, view, depth = waiting.pop()
        if depth > NESTING:
            raise ValueError(f"messages are nested more than {NESTING} levels deep")
        if message == "tensor":
            files |= _external_files(view)
            continue
        for number, _, value in protobuf.fields(view):
            if number in INSIDE[message]:
                waiting.append((INSIDE[message][number], value, depth + 1))
    return files


def _external_files(tensor):
    """The set of the files that a tensor names: none if it holds its numbers."""
    is_external, names = False, set()
    for number, _, value in protobuf.fields(tensor):
        if number == 14 and protobuf.read_integer(value) == EXTERNAL:  # data_location
            is_external = True
        elif number == 13:  # external_data: keys and values, 1 and 2
            is_external, entry = True, {number: bytes(part) for number, _, part in protobuf.fields(value)}
            names |= {entry.get(2, b"").decode(errors="replace")} if entry.get(1) == b"location" else set()
    return names or {""} if is_external else set()
