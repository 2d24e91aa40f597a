"""TensorFlow Serving's REST: `:predict` by rows and by columns, the status of a model and its signatures.

https://www.tensorflow.org/tfx/serving/api_rest. What is sent is what its clients send, and so is what they receive. One
member more is understood, `parameters`, with the same parameters as those of the Open Inference Protocol.
"""

import base64
import binascii

import numpy as np
import orjson

from serving.server.bodies import member, parse
from serving.server.faults import invalid
from serving.server.signatures import NAME
from serving.server.tensors import describe, flatten, from_values, quote, text_of

KINDS = {"BYTES": "DT_STRING", "INT32": "DT_INT32", "INT64": "DT_INT64", "FP32": "DT_FLOAT", "BOOL": "DT_BOOL"}


class Request:
    """What the body of a predict request asks.

    Args:
        body: the bytes.

    Raises:
        Fault: it is malformed.
    """

    def __init__(self, body):
        request = parse(body)
        self.signature = member(request, "signature_name", str) or NAME
        self.parameters = member(request, "parameters", dict, {})
        forms = [name for name in ("instances", "inputs") if name in request]
        if len(forms) != 1:
            raise invalid(
                f'the body must have either "instances" (rows) or "inputs" (columns); received {forms or "none"}.'
            )
        self.by_rows = forms == ["instances"]
        self.values = request[forms[0]]
        if self.by_rows and (not isinstance(self.values, list) or not self.values):
            received = "an empty list" if self.values == [] else describe(self.values)
            raise invalid(f'"instances" must be a list of at least one row; received {received}.')

    def tensors(self, version):
        """The tensors for a version of a model; their types are those of its signature."""
        signature = version.signatures.get(self.signature)
        if signature is None:
            raise invalid(
                f"there is no signature {quote(self.signature)}; this model has {', '.join(version.signatures)}."
            )
        specs = {each["name"]: each for each in signature.inputs}
        if self.by_rows:
            columns = self._gather_columns(specs)
        else:
            columns = self.values if isinstance(self.values, dict) and "b64" not in self.values else None
            if columns is None:
                columns = {_only_name(specs): self.values}
        known_specs = specs | {each["name"]: each for each in signature.alternatives}
        return [_make_tensor(name, known_specs.get(name), values) for name, values in columns.items()]

    def _gather_columns(self, specs):
        """The rows as columns: a row is an object with all inputs, or the value of the only input."""
        rows = self.values
        objects = [isinstance(row, dict) and not _is_base64(row) for row in rows]
        if not any(objects):
            return {_only_name(specs): rows}
        names = rows[objects.index(True)].keys()
        for number, row in enumerate(rows):
            if not objects[number] or row.keys() != names:
                raise invalid(
                    f"all instances must be objects with the same inputs ({', '.join(map(quote, names))}); instance "
                    f"{number} is not."
                )
        return {name: [row[name] for row in rows] for name in names}


def response(request, answer):
    """The bytes of an answer: rows if rows were asked, else columns; one output alone stands without its name."""
    columns = {tensor.name: _nest(tensor) for tensor in answer.tensors}
    if request.by_rows:
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        return orjson.dumps(
            {"predictions": rows if len(columns) > 1 else [value for row in rows for value in row.values()]}
        )
    return orjson.dumps({"outputs": columns if len(columns) > 1 else next(iter(columns.values()))})


def status(version):
    """What TensorFlow Serving says of the versions of a model."""
    fine = {"error_code": "OK", "error_message": ""}
    return {"model_version_status": [{"version": str(version.number), "state": "AVAILABLE", "status": fine}]}


def metadata(name, version):
    """The signatures of a model as `signature_def`."""

    def tensors(specs):
        return {
            each["name"]: {
                "dtype": KINDS[each["datatype"]],
                "tensor_shape": {
                    "dim": [{"size": str(size), "name": ""} for size in each["shape"]],
                    "unknown_rank": False,
                },
                "name": each["name"],
            }
            for each in specs
        }

    signatures = {
        key: {
            "inputs": tensors(signature.inputs),
            "outputs": tensors(signature.outputs),
            "method_name": "tensorflow/serving/predict",
        }
        for key, signature in version.signatures.items()
    }
    return {
        "model_spec": {"name": name, "signature_name": "", "version": str(version.number)},
        "metadata": {"signature_def": {"signature_def": signatures}},
    }


def _only_name(specs):
    if len(specs) != 1:
        raise invalid(f"this signature has several inputs, {', '.join(specs)}: give each by its name.")
    return next(iter(specs))


def _make_tensor(name, spec, values):
    """A tensor of a column; its shape is that of the values."""
    if not isinstance(values, list):
        raise invalid(
            f"the input {quote(name)} must be a list with one value for each row; received {describe(values)}."
        )
    if spec is None:  # which the signature refuses, with the names that it has
        return from_values(name, "BYTES", [0], [])
    shape, level = [len(values)], values
    while level and isinstance(level[0], list) and len(shape) < len(spec["shape"]) + 2:
        shape.append(len(level[0]))
        if any(not isinstance(each, list) or len(each) != shape[-1] for each in level):
            raise invalid(
                f"the rows of {quote(name)} have different lengths: pad them, and give the lengths beside them."
            )
        level = [value for each in level for value in each]
    flat = flatten(name, values)
    if spec["datatype"] == "BYTES":
        flat = [_decode(name, value) for value in flat]
    return from_values(name, spec["datatype"], shape, flat)


def _is_base64(value):
    return value.keys() == {"b64"}


def _decode(name, value):
    """A text, also from {"b64": "..."}."""
    if not isinstance(value, dict):
        return value
    if not _is_base64(value) or not isinstance(value["b64"], str):
        raise invalid(
            f'a value of {quote(name)} must be a string, or an object {{"b64": ...}}; received {describe(value)}.'
        )
    try:
        return text_of(base64.b64decode(value["b64"], validate=True))
    except (binascii.Error, ValueError):
        raise invalid(f"a value of {quote(name)} is not base64.") from None


def _nest(tensor):
    """The values of a tensor as nested lists."""
    if tensor.datatype != "BYTES":
        return tensor.data.tolist()
    return np.array([*tensor.data, None], object)[:-1].reshape(tensor.shape).tolist()
