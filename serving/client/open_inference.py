"""The Open Inference Protocol v2, as JSON and over gRPC (https://github.com/kserve/open-inference-protocol).

Each class has two methods. `describe` says the names of a model's inputs and outputs. `infer` sends columns of texts,
lists by the name of an input, and returns columns, nested lists by the name of an output.
"""

import struct

from serving.client.channel import Channel
from serving.client.http import Http
from serving.client.tensors import Description, fitting, nest, read_numbers
from serving.messages import CONTENTS, classes

BYTES = "BYTES"
NUMBERS = {"FP32": "f", "FP64": "d", "INT32": "i", "INT64": "q", "BOOL": "?"}  # datatype -> code of struct


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


class V2Grpc:
    """The Open Inference Protocol v2 over gRPC."""

    takes_parameters, has_labels = True, False
    service = "/inference.GRPCInferenceService/"

    def __init__(self, address, headers):
        self.transport, self._messages = Channel(address, headers), classes("v2")

    def _call(self, method, request, deadline, cancellation):
        answer = self._messages[f"{method}Response"]
        return self.transport.call(self.service + method, request, answer, deadline, cancellation)

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
