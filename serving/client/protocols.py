"""The protocols that a client speaks, each as JSON and over gRPC.

The Open Inference Protocol v2 (https://github.com/kserve/open-inference-protocol), and TensorFlow Serving's REST and
PredictionService (https://www.tensorflow.org/tfx/serving/api_rest), whose SavedModels take no parameters.

Each class has two methods. `describe` says the names of a model's inputs and outputs. `infer` sends columns of texts,
lists by the name of an input, and returns columns, nested lists by the name of an output.
"""

import math
import struct
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from serving.client.errors import AnswerError, ClientError
from serving.client.transport import Channel, Http
from serving.messages import CONTENTS, classes

MOST_AXES = 8
MOST_FILLED = 1 << 24  # values of a tensor whose message holds one for all
BYTES = "BYTES"
NUMBERS = {"FP32": "f", "FP64": "d", "INT32": "i", "INT64": "q", "BOOL": "?"}  # datatype -> code of struct
SIGNATURE = "serving_default"
STRING = 7  # of TensorFlow's types
VALUES = {STRING: ("string_val", None), 1: ("float_val", "f"), 3: ("int_val", "i"), 9: ("int64_val", "q")}


@dataclass(frozen=True)
class Model:
    """Which model is meant.

    Args:
        name: its name on the server.
        version: a number, or a label such as "stable", as a string; None leaves the choice to the server.
    """

    name: str
    version: str | None = None

    @property
    def path(self):
        """Its place below `/v2/models/`."""
        version = f"/versions/{quote(self.version, safe='')}" if self.version else ""
        return quote(self.name, safe="") + version


@dataclass(frozen=True)
class Description:
    """The names of the inputs and outputs of a model, its versions, and its labels where the server says them."""

    inputs: tuple
    outputs: tuple
    versions: tuple = ()
    labels: tuple = ()


def nest(values, shape, rows):
    """Flat values as lists of lists of a shape, whose first axis is that of `rows` texts.

    >>> from serving.client.protocols import nest
    >>> nest([1, 2, 3, 4], [2, 2], 2), nest([], [2, 0], 2)
    ([[1, 2], [3, 4]], [[], []])

    Raises:
        ValueError: there are more or fewer values or rows than that.
    """
    values = list(values)
    if not _is_shape(shape, rows) or math.prod(shape) != len(values) or math.prod(shape[:-1]) > len(values) + rows:
        raise ValueError(f"{len(values)} values in a tensor of shape {list(shape)[: MOST_AXES + 1]} for {rows} texts")
    for place in range(len(shape) - 1, 0, -1):
        axis = shape[place]
        values = [values[row * axis : (row + 1) * axis] for row in range(math.prod(shape[:place]))]
    return values


def _is_shape(shape, rows):
    return 0 < len(shape) <= MOST_AXES and shape[0] == rows and all(type(axis) is int and axis >= 0 for axis in shape)


def fill(value, shape, rows):
    """The flat values of a tensor whose message holds one value for all of them.

    Raises:
        ValueError: the shape is not one of so many rows, or too large.
    """
    if not _is_shape(shape, rows) or math.prod(shape) > MOST_FILLED:
        raise ValueError(f"1 values in a tensor of shape {list(shape)[: MOST_AXES + 1]} for {rows} texts")
    return [value] * math.prod(shape)


def read_numbers(content, code):
    """The little-endian numbers of a code of `struct`."""
    return [value for (value,) in struct.iter_unpack(f"<{code}", content)]


@contextmanager
def fitting(where):
    """A context in which an answer that is not as the protocol says is an `AnswerError`."""
    try:
        yield
    except ClientError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, struct.error) as error:
        reason = f"{type(error).__name__}: {error}"
        raise AnswerError(f"{where} answered what does not follow its protocol ({reason}).") from error


class V2Http:
    """The Open Inference Protocol v2 as JSON."""

    takes_parameters, has_labels = True, False

    def __init__(self, address, headers):
        self.transport = Http(address, headers)

    def describe(self, model, deadline, cancellation):
        metadata = self.transport.json(f"/v2/models/{model.path}", None, deadline, cancellation)
        with fitting(self.transport.where):
            labels = metadata.get("parameters", {}).get("labels", ())
            names = ([each["name"] for each in metadata[side]] for side in ("inputs", "outputs"))
            return Description(*map(tuple, names), tuple(map(str, metadata.get("versions", ()))), tuple(labels))

    def infer(self, model, columns, parameters, deadline, cancellation):
        inputs = [
            {"name": name, "datatype": BYTES, "shape": [len(texts)], "data": texts} for name, texts in columns.items()
        ]
        body = {"inputs": inputs} | ({"parameters": parameters} if parameters else {})
        answer = self.transport.json(f"/v2/models/{model.path}/infer", body, deadline, cancellation)
        with fitting(self.transport.where):
            rows = inputs[0]["shape"][0]
            return {each["name"]: nest(_flatten(each["data"]), each["shape"], rows) for each in answer["outputs"]}


class _Grpc:
    """What both protocols do over gRPC: the call of a method of their service, with their messages."""

    def __init__(self, address, headers):
        self.transport, self._messages = Channel(address, headers), classes(self.messages)

    def _call(self, method, request, deadline, cancellation):
        answer = self._messages[f"{method}Response"]
        return self.transport.call(self.service + method, request, answer, deadline, cancellation)


class V2Grpc(_Grpc):
    """The Open Inference Protocol v2 over gRPC."""

    takes_parameters, has_labels = True, False
    messages, service = "v2", "/inference.GRPCInferenceService/"

    def describe(self, model, deadline, cancellation):
        request = self._messages["ModelMetadataRequest"](name=model.name, version=model.version or "")
        metadata = self._call("ModelMetadata", request, deadline, cancellation)
        names = (tuple(each.name for each in side) for side in (metadata.inputs, metadata.outputs))
        return Description(*names, tuple(metadata.versions))

    def request(self, model, columns, parameters):
        """The `ModelInferRequest`."""
        request = self._messages["ModelInferRequest"](model_name=model.name, model_version=model.version or "")
        for name, value in parameters.items():
            request.parameters[name].CopyFrom(self._parameter(value))
        for name, texts in columns.items():
            column = request.inputs.add(name=name, datatype=BYTES, shape=[len(texts)])
            column.contents.bytes_contents.extend(text.encode("utf-8") for text in texts)
        return request

    def _parameter(self, value):
        kind = {bool: "bool_param", int: "int64_param"}.get(type(value), "string_param")
        return self._messages["InferParameter"](**{kind: value if kind != "string_param" else str(value)})

    def infer(self, model, columns, parameters, deadline, cancellation):
        request = self.request(model, columns, parameters)
        answer = self._call("ModelInfer", request, deadline, cancellation)
        raw = answer.raw_output_contents
        with fitting(self.transport.where):
            if raw and len(raw) != len(answer.outputs):
                raise ValueError(f"{len(raw)} raw contents of {len(answer.outputs)} outputs")
            return {
                each.name: nest(
                    from_raw(each.datatype, raw[number]) if raw else _read_contents(each.datatype, each.contents),
                    each.shape,
                    request.inputs[0].shape[0],
                )
                for number, each in enumerate(answer.outputs)
            }


def _read_contents(datatype, contents):
    values = getattr(contents, CONTENTS[datatype])
    return [value.decode("utf-8") for value in values] if datatype == BYTES else list(values)


def from_raw(datatype, content):
    """The values of a raw tensor: little-endian numbers, or texts with their lengths in four bytes before them."""
    if datatype != BYTES:
        return read_numbers(content, NUMBERS[datatype])
    texts, at = [], 0
    while at < len(content):
        (length,) = struct.unpack_from("<I", content, at)
        at += 4 + length
        if at > len(content):
            raise ValueError("a text ends behind its tensor")
        texts.append(content[at - length : at].decode("utf-8"))
    return texts


def _flatten(values):
    """JSON may hold a tensor flat or nested."""
    while values and isinstance(values[0], list):
        values = [value for row in values for value in row]
    return values


class TfsHttp:
    """TensorFlow Serving's REST, by columns."""

    takes_parameters, has_labels = False, True

    def __init__(self, address, headers):
        self.transport = Http(address, headers)

    @staticmethod
    def _path(model):
        if not model.version or model.version.isdecimal():
            return f"/v1/models/{model.path}"
        return f"/v1/models/{quote(model.name, safe='')}/labels/{quote(model.version, safe='')}"

    def describe(self, model, deadline, cancellation):
        metadata = self.transport.json(f"{self._path(model)}/metadata", None, deadline, cancellation)
        with fitting(self.transport.where):
            signature = metadata["metadata"]["signature_def"]["signature_def"][SIGNATURE]
            version = str(metadata.get("model_spec", {}).get("version", ""))
            return Description(tuple(signature["inputs"]), tuple(signature["outputs"]), (version,) if version else ())

    def infer(self, model, columns, parameters, deadline, cancellation):
        body = {"signature_name": SIGNATURE, "inputs": columns}
        answer = self.transport.json(f"{self._path(model)}:predict", body, deadline, cancellation)
        with fitting(self.transport.where):
            return dict(answer["outputs"])


class TfsGrpc(_Grpc):
    """TensorFlow Serving's PredictionService."""

    takes_parameters, has_labels = False, True
    messages, service = "tfs", "/tensorflow.serving.PredictionService/"

    def _spec(self, model, **more):
        version = {}
        if model.version and model.version.isdecimal():
            version["version"] = self._messages["Int64Value"](value=int(model.version))
        elif model.version:
            version["version_label"] = model.version
        return self._messages["ModelSpec"](name=model.name, **version, **more)

    def describe(self, model, deadline, cancellation):
        request = self._messages["GetModelMetadataRequest"](
            model_spec=self._spec(model), metadata_field=["signature_def"]
        )
        metadata = self._call("GetModelMetadata", request, deadline, cancellation)
        with fitting(self.transport.where):
            table = self._messages["SignatureDefMap"].FromString(metadata.metadata["signature_def"].value)
            if SIGNATURE not in table.signature_def:
                raise ValueError(f"there is no signature {SIGNATURE}")
            signature = table.signature_def[SIGNATURE]
            versions = (str(metadata.model_spec.version.value),) if metadata.model_spec.HasField("version") else ()
            return Description(tuple(sorted(signature.inputs)), tuple(sorted(signature.outputs)), versions)

    def request(self, model, columns):
        """The `PredictRequest`."""
        request = self._messages["PredictRequest"](model_spec=self._spec(model, signature_name=SIGNATURE))
        for name, texts in columns.items():
            tensor = request.inputs[name]
            tensor.dtype = STRING
            tensor.tensor_shape.dim.add(size=len(texts))
            tensor.string_val.extend(text.encode("utf-8") for text in texts)
        return request

    def infer(self, model, columns, parameters, deadline, cancellation):
        request = self.request(model, columns)
        answer = self._call("Predict", request, deadline, cancellation)
        with fitting(self.transport.where):
            rows = len(next(iter(columns.values())))
            return {name: _read_tensor(tensor, rows) for name, tensor in answer.outputs.items()}


def _read_tensor(tensor, rows):
    """A TensorProto as nested lists: its values stand in `tensor_content`, or in a field of their type."""
    shape = [dim.size for dim in tensor.tensor_shape.dim]
    field, code = VALUES[tensor.dtype]
    if code is None:
        values = [value.decode("utf-8") for value in tensor.string_val]
    elif tensor.tensor_content:
        values = read_numbers(tensor.tensor_content, code)
    else:
        values = list(getattr(tensor, field))
    if len(values) == 1 and not tensor.tensor_content:  # it stands for all of them
        values = fill(values[0], shape, rows)
    return nest(values, shape, rows)


PROTOCOLS: dict[tuple[str, str], Any] = {
    ("v2", "http"): V2Http,
    ("v2", "grpc"): V2Grpc,
    ("tfs", "http"): TfsHttp,
    ("tfs", "grpc"): TfsGrpc,
}
