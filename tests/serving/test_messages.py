"""The messages are those of kserve and of TensorFlow Serving, in their fields and in their bytes."""

import pytest

from serving.client import Client
from serving.client.protocols import Model
from serving.messages import TFS, V2, classes
from serving.runtime import Runtime
from tests.serving import fake_artefact
from tests.serving.client.fake_model import Fake
from tests.serving.client.fake_server import Servers

pytestmark = pytest.mark.slow  # imports kserve and TensorFlow
OURS = {"InferTensor": ("ModelInferRequest.InferInputTensor", "ModelInferResponse.InferOutputTensor")}
OURS["InferRequestedOutputTensor"] = ("ModelInferRequest.InferRequestedOutputTensor",)
OURS["TensorMetadata"] = ("ModelMetadataResponse.TensorMetadata",)
TEXTS = ["3. März 2021", "", "日本 ß"]


def v2():
    from kserve.protocol.grpc import grpc_predict_v2_pb2 as v2

    return v2


def real(protocol):
    """(name of our message, real message) of every message, a message of ours being several of theirs."""
    if protocol == "v2":
        file = v2().DESCRIPTOR
        for name in V2:
            for path in OURS.get(name, (name,)):
                first, *rest = path.split(".")
                found = file.message_types_by_name[first]
                for part in rest:
                    found = found.nested_types_by_name[part]
                yield name, found
        return
    from google.protobuf import any_pb2, wrappers_pb2
    from tensorflow.core.framework import tensor_pb2
    from tensorflow.core.protobuf import meta_graph_pb2
    from tensorflow_serving.apis import get_model_metadata_pb2, model_pb2, predict_pb2

    shape = tensor_pb2.TensorProto().tensor_shape.DESCRIPTOR
    yield from {
        "Any": any_pb2.Any,
        "Int64Value": wrappers_pb2.Int64Value,
        "ModelSpec": model_pb2.ModelSpec,
        "Tensor": tensor_pb2.TensorProto,
        "PredictRequest": predict_pb2.PredictRequest,
        "PredictResponse": predict_pb2.PredictResponse,
        "GetModelMetadataRequest": get_model_metadata_pb2.GetModelMetadataRequest,
        "GetModelMetadataResponse": get_model_metadata_pb2.GetModelMetadataResponse,
        "SignatureDefMap": get_model_metadata_pb2.SignatureDefMap,
        "SignatureDef": meta_graph_pb2.SignatureDef,
        "TensorInfo": meta_graph_pb2.TensorInfo,
        "TensorShape": shape,
        "Dim": shape.nested_types_by_name["Dim"],
    }.items()


@pytest.mark.parametrize("protocol", ["v2", "tfs"])
def test_every_field_is_theirs(protocol):
    compared = set()
    for name, theirs in real(protocol):
        theirs = theirs if hasattr(theirs, "fields_by_name") else theirs.DESCRIPTOR
        ours = classes(protocol)[name].DESCRIPTOR
        for field in ours.fields:
            other = theirs.fields_by_name[field.name]
            assert (field.number, field.is_repeated) == (other.number, other.is_repeated), (name, field.name)
            kinds = {field.type, other.type}
            assert len(kinds) == 1 or kinds == {field.TYPE_INT32, field.TYPE_ENUM}, (
                name,
                field.name,
            )  # one on the wire
            if field.message_type:
                assert field.message_type.GetOptions().map_entry == other.message_type.GetOptions().map_entry
        compared.add(name)
    assert compared == set({"v2": V2, "tfs": TFS}[protocol])


def protocol_of(scheme):
    return Client(f"{scheme}://localhost", "dates")._protocol


def test_bytes_of_an_infer_request():
    theirs = v2().ModelInferRequest(model_name="dates", model_version="2")
    theirs.parameters["beam"].int64_param = 4
    theirs.parameters["sample"].bool_param = True
    theirs.parameters["top_p"].string_param = "0.5"
    tensor = theirs.inputs.add(name="text", datatype="BYTES", shape=[3])
    tensor.contents.bytes_contents.extend(text.encode() for text in TEXTS)
    parameters = {"beam": 4, "sample": True, "top_p": 0.5}
    ours = protocol_of("grpc").request(Model("dates", "2"), {"text": TEXTS}, parameters)
    assert ours.SerializeToString(deterministic=True) == theirs.SerializeToString(deterministic=True)


@pytest.mark.parametrize("version", [None, "2", "stable"])
def test_bytes_of_a_predict_request(version):
    import tensorflow as tf
    from tensorflow_serving.apis import predict_pb2

    theirs = predict_pb2.PredictRequest()
    theirs.model_spec.name, theirs.model_spec.signature_name = "dates", "serving_default"
    if version == "2":
        theirs.model_spec.version.value = 2
    elif version:
        theirs.model_spec.version_label = version
    theirs.inputs["text"].CopyFrom(tf.make_tensor_proto(TEXTS))
    ours = protocol_of("tfs+grpc").request(Model("dates", version), {"text": TEXTS})
    assert ours.SerializeToString(deterministic=True) == theirs.SerializeToString(deterministic=True)


class RealProtos:
    """Theirs, for the fake server."""

    def __init__(self):
        from tensorflow_serving.apis import get_model_metadata_pb2 as metadata, predict_pb2 as predict

        self.infer, self.inferred = v2().ModelInferRequest, v2().ModelInferResponse
        self.model, self.described = v2().ModelMetadataRequest, v2().ModelMetadataResponse
        self.predict, self.predicted = predict.PredictRequest, predict.PredictResponse
        self.metadata, self.metadata_found = metadata.GetModelMetadataRequest, metadata.GetModelMetadataResponse
        self.signatures = metadata.SignatureDefMap


@pytest.mark.parametrize("scheme", ["grpc", "tfs+grpc"])
def test_a_server_of_real_messages(tmp_path, scheme):
    kinds = {kind: Runtime(fake_artefact.write(tmp_path / kind, kind), threads=1) for kind in fake_artefact.KINDS}
    with Servers(Fake(kinds), RealProtos()) as servers:
        for kind, runtime in kinds.items():
            labels = runtime.manifest.get("labels", ())
            for _ in range(2):  # an answer in each of two forms
                found = Client(servers.url(scheme), kind, labels=labels).run(["abc", "", "a1 b2", "a\tb"])
                assert found == runtime.run(["abc", "", "a1 b2", "a\tb"])
