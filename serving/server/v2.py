"""The Open Inference Protocol v2 as JSON, with its extension for binary tensors, and what it says of models.

https://github.com/kserve/open-inference-protocol and, of the extension, Triton's
https://github.com/triton-inference-server/server/blob/main/docs/protocol/extension_binary_data.md
"""

import orjson

from serving.server.bodies import Parameters, member, parse
from serving.server.faults import invalid
from serving.server.signatures import NAME
from serving.server.tensors import MOST_TEXTS, describe, from_raw, from_values, quote, raw_bytes

EXTENSIONS = ["binary_tensor_data"]
HEADER = "inference-header-content-length"
MOST_ID = 1000  # characters


class Request:
    """What the body of an infer request asks.

    Args:
        body: the bytes.
        header: the value of the header `Inference-Header-Content-Length`: how many of them are JSON; None if all are.
        most: the most texts.

    Raises:
        Fault: it is malformed.
    """

    def __init__(self, body, header=None, most=MOST_TEXTS):
        self.most, size = most, _read_size(header, len(body))
        request, rest = parse(body[:size]), memoryview(body)[size:]
        self.id = check_id(member(request, "id", str))
        parameters = Parameters(member(request, "parameters", dict, {}))
        self.binary = parameters.values.pop("binary_data_output", False) is True
        self.signature, self.parameters = parameters.take("signature", str), parameters.values
        inputs = member(request, "inputs", list)
        if not inputs:
            raise invalid('the body must have "inputs", a list of at least one tensor.')
        self.tensors = []
        for each in inputs:
            rest = self._read_tensor(each, rest)
        if len(rest):
            raise invalid(f"{len(rest)} bytes follow the tensors; each binary tensor says its binary_data_size.")
        self.outputs = self._read_outputs(member(request, "outputs", list, []))

    def _read_tensor(self, each, rest):
        """Append a tensor; returns the binary data that is left."""
        if not isinstance(each, dict):
            raise invalid(f'each of "inputs" must be an object; received {describe(each)}.')
        name = member(each, "name", str, where="an input")
        if name is None:
            raise invalid('an input has no "name".')
        datatype, shape = member(each, "datatype", str, where="an input"), each.get("shape")
        parameters = member(each, "parameters", dict, {}, where="an input")
        size = member(parameters, "binary_data_size", int, where="the parameters of an input")
        if size is None:
            if "data" not in each:
                raise invalid(f"the input {quote(name)} has neither data nor a binary_data_size.")
            self.tensors.append(from_values(name, datatype, shape, each["data"]))
            return rest
        if "data" in each or not 0 <= size <= len(rest):
            raise invalid(
                f"the input {quote(name)} says that {size} bytes of the body are its data: {len(rest)} are left"
                f"{', and it has data in JSON as well' if 'data' in each else ''}."
            )
        self.tensors.append(from_raw(name, datatype, shape, rest[:size], self.most))
        return rest[size:]

    @staticmethod
    def _read_outputs(outputs):
        """Name -> whether it is wanted as binary data, or None if that is not said."""
        is_binary = {}
        for each in outputs:
            name = member(each, "name", str, where="an output") if isinstance(each, dict) else None
            if name is None:
                raise invalid('each of "outputs" must be an object with a "name".')
            binary = member(each, "parameters", dict, {}, where="an output").get("binary_data")
            is_binary[name] = binary if isinstance(binary, bool) else None
        return is_binary


def check_id(identity):
    """The id of a request, which comes back with its answer.

    Raises:
        Fault: an answer cannot hold it.
    """
    if identity is not None and (len(identity) > MOST_ID or any("\ud800" <= each <= "\udfff" for each in identity)):
        raise invalid(f"the 'id' must be Unicode of at most {MOST_ID} characters; received {quote(identity)}.")
    return identity


def choose_tensors(tensors, names):
    """The tensors that are asked for, in that order and each once; all of them if none is named."""
    by_name = {tensor.name: tensor for tensor in tensors}
    return [by_name[name] for name in dict.fromkeys(names)] or tensors


def response(request, answer):
    """`(bytes, number of them that are JSON or None)` of an answer."""
    outputs, binaries = [], []
    for tensor in choose_tensors(answer.tensors, request.outputs):
        is_binary = request.outputs.get(tensor.name)
        entry = {"name": tensor.name, "shape": list(tensor.shape), "datatype": tensor.datatype}
        if request.binary if is_binary is None else is_binary:
            binaries.append(raw_bytes(tensor))
            entry["parameters"] = {"binary_data_size": len(binaries[-1])}
        else:
            entry["data"] = tensor.data if tensor.datatype == "BYTES" else tensor.data.ravel().tolist()
        outputs.append(entry)
    body = {"model_name": answer.model, "model_version": answer.version, "outputs": outputs}
    head = orjson.dumps(body if request.id is None else body | {"id": request.id})
    return (b"".join([head, *binaries]), len(head)) if binaries else (head, None)


def metadata(name, version):
    """What the protocol says of a model: its versions, inputs and outputs; as JSON also the names of its labels."""
    default = version.signatures[NAME]
    parameters = {"parameters": {"labels": list(default.labels)}} if default.labels else {}
    return parameters | {
        "name": name,
        "versions": [str(version.number)],
        "platform": "onnxruntime_onnx",
        "inputs": list(default.inputs),
        "outputs": list(default.outputs),
    }


def _read_size(header, most):
    if header is None:
        return most
    if not (header.isdecimal() and header.isascii() and len(header) < 16 and int(header) <= most):
        raise invalid(
            f"the header Inference-Header-Content-Length must be the number of bytes of JSON, at most the "
            f"{most} of the body; received {describe(header)}."
        )
    return int(header)
