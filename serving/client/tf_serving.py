"""TensorFlow Serving's REST and its PredictionService (https://www.tensorflow.org/tfx/serving/api_rest).

The classes have the methods of those in `serving.client.open_inference`. A SavedModel takes no parameters.
"""

from urllib.parse import quote

from serving.client.channel import Channel
from serving.client.http import Http
from serving.client.tensors import Description, fill, fitting, nest, read_numbers
from serving.messages import classes

SIGNATURE = "serving_default"
STRING = 7  # of TensorFlow's types
VALUES = {STRING: ("string_val", None), 1: ("float_val", "f"), 3: ("int_val", "i"), 9: ("int64_val", "q")}


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


class TfsGrpc:
    """TensorFlow Serving's PredictionService."""

    takes_parameters, has_labels = False, True
    service = "/tensorflow.serving.PredictionService/"

    def __init__(self, address, headers):
        self.transport, self._messages = Channel(address, headers), classes("tfs")

    def _call(self, method, request, answer, deadline, cancellation):
        return self.transport.call(self.service + method, request, self._messages[answer], deadline, cancellation)

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
        answer = "GetModelMetadataResponse"
        metadata = self._call("GetModelMetadata", request, answer, deadline, cancellation)
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
        answer = self._call("Predict", request, "PredictResponse", deadline, cancellation)
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
