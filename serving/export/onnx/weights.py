"""Where the arrays of a graph are while it is converted: inside of it, or beside it.

A message of protobuf holds less than 2 GB, and every pass over a graph copies what it holds. So the large arrays of a
large network stand beside its graphs, whose tensors only name them, and are at last written to one file that all graphs
of an artefact share (ONNX calls this external data).
"""

import copy
import hashlib
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.external_data_helper import ExternalDataInfo, uses_external_data

LEAST = 1024  # bytes of an array that stands beside its graph
ALIGNED = 64  # each array begins at a multiple of so many bytes
# For a session that answers little: ONNX Runtime reads matrices as they are, and holds no second copy of them.
NOT_PACKED = "session.disable_prepacking", "1"


class Inside:
    """Every array is in its graph."""

    def tensor(self, values, name):
        """A `TensorProto` of an array."""
        return numpy_helper.from_array(values, name)

    def array(self, tensor):
        """The array of a `TensorProto`."""
        return numpy_helper.to_array(tensor)

    def give(self, options, model):
        """Give the arrays of a `ModelProto` that are not in it to the options of an ONNX Runtime session."""

    def check(self, model):
        """Run ONNX' checker on a `ModelProto`."""
        onnx.checker.check_model(model)


INSIDE = Inside()


class Beside(Inside):
    """Arrays of at least `LEAST` bytes are held here, and tensors name them. ONNX Runtime takes them for initializers
    of the outermost graph alone, so `loops.sink_initializers` leaves them there."""

    def __init__(self):
        self._arrays = {}

    def tensor(self, values, name):
        if values.nbytes < LEAST:
            return super().tensor(values, name)
        key = str(len(self._arrays))
        self._arrays[key] = values
        tensor = TensorProto(name=name, dims=values.shape, data_type=helper.np_dtype_to_tensor_dtype(values.dtype))
        return _place(tensor, key, 0, values.nbytes)

    def array(self, tensor):
        return self._arrays[ExternalDataInfo(tensor).location] if uses_external_data(tensor) else super().array(tensor)

    def give(self, options, model):
        tensors = [tensor for tensor in model.graph.initializer if uses_external_data(tensor)]
        arrays = {ExternalDataInfo(tensor).location: _as_bytes(self.array(tensor)) for tensor in tensors}
        buffers = list(arrays.values())
        options.add_external_initializers_from_files_in_memory(list(arrays), buffers, [each.nbytes for each in buffers])
        options.add_session_config_entry(*NOT_PACKED)
        return buffers

    def check(self, model):
        """As of `Inside`; for the checker, which would look for files, what is held here is an input of the graph."""
        model = copy.deepcopy(model)
        beside = [tensor for tensor in model.graph.initializer if uses_external_data(tensor)]
        for tensor in beside:
            model.graph.initializer.remove(tensor)
            model.graph.input.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims))
        onnx.checker.check_model(model)


class WeightsFile:
    """A file of arrays, each of which stands in it once, whichever graphs read it.

    Args:
        path: of the file, which is made with the first array. The graphs that read it are written to the same folder.
    """

    def __init__(self, path):
        self.path, self._places, self._end = Path(path), {}, 0

    def refer(self, model, weights):
        """A copy of a `ModelProto` whose large arrays, those of `weights` and its own, are in this file."""
        model = copy.deepcopy(model)
        for tensor in model.graph.initializer:
            values = weights.array(tensor)
            if values.nbytes >= LEAST and values.dtype != object:
                tensor.ClearField("raw_data")
                _place(tensor, self.path.name, self._append(_as_bytes(values)), values.nbytes)
        return model

    def _append(self, content):
        """The place of these bytes in the file."""
        digest = hashlib.sha256(content).digest()
        if digest not in self._places:
            with open(self.path, "ab") as file:
                file.write(bytes(-self._end % ALIGNED))
                self._places[digest] = file.tell()
                file.write(content)
                self._end = file.tell()
        return self._places[digest]


def _place(tensor, location, offset, length):
    """The tensor, whose array is at a place in a file, or has a key in `Beside`."""
    tensor.data_location = TensorProto.EXTERNAL
    del tensor.external_data[:]
    for key, value in (("location", location), ("offset", offset), ("length", length)):
        tensor.external_data.add(key=key, value=str(value))
    return tensor


def _as_bytes(values):
    """The bytes of an array, as a flat view where they lie in order."""
    return np.ascontiguousarray(values).reshape(-1).view(np.uint8)
