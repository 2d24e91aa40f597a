"""The messages of gRPC that the client and the server need, made when they are first needed.

A table has the fields of a message with the numbers and types that the protocols give them: `grpc_predict_v2.proto` of
the Open Inference Protocol (https://github.com/kserve/open-inference-protocol), `tensorflow_serving/apis/*.proto` of
TensorFlow Serving (https://github.com/tensorflow/serving) and gRPC's `health.proto` (https://github.com/grpc/grpc), all
under Apache-2.0. Fields that nobody here writes or reads are left out, and protobuf passes over them. The messages live
in a pool of their own, so that they do not meet those of kserve or of TensorFlow in one process.
tests/serving/test_messages.py compares them with the real ones, field by field and byte by byte.
"""

import functools

# Message -> its fields: name, number, type; a type in capitals is another message, "*" is a list, "map:" a map of
# strings to it, and a name behind "|" is the `oneof` that the field belongs to.
V2 = {
    "InferParameter": "bool_param 1 bool|choice, int64_param 2 int64|choice, string_param 3 string|choice",
    "InferTensorContents": "bool_contents 1 *bool, int_contents 2 *int32, int64_contents 3 *int64, "
    "uint_contents 4 *uint32, uint64_contents 5 *uint64, fp32_contents 6 *float, fp64_contents 7 *double, "
    "bytes_contents 8 *bytes",
    "InferTensor": "name 1 string, datatype 2 string, shape 3 *int64, contents 5 InferTensorContents",
    "ModelInferRequest": "model_name 1 string, model_version 2 string, id 3 string, parameters 4 map:InferParameter, "
    "inputs 5 *InferTensor, outputs 6 *InferRequestedOutputTensor, raw_input_contents 7 *bytes",
    "InferRequestedOutputTensor": "name 1 string",
    "ModelInferResponse": "model_name 1 string, model_version 2 string, id 3 string, outputs 5 *InferTensor, "
    "raw_output_contents 6 *bytes",
    "TensorMetadata": "name 1 string, datatype 2 string, shape 3 *int64",
    "ModelMetadataRequest": "name 1 string, version 2 string",
    "ModelMetadataResponse": "name 1 string, versions 2 *string, platform 3 string, inputs 4 *TensorMetadata, "
    "outputs 5 *TensorMetadata",
    "ModelReadyRequest": "name 1 string, version 2 string",
    "ModelReadyResponse": "ready 1 bool",
    "ServerLiveRequest": "",
    "ServerLiveResponse": "live 1 bool",
    "ServerReadyRequest": "",
    "ServerReadyResponse": "ready 1 bool",
    "ServerMetadataRequest": "",
    "ServerMetadataResponse": "name 1 string, version 2 string, extensions 3 *string",
}
# Datatype of a tensor -> the field of `InferTensorContents` that has its values.
CONTENTS = {
    "BOOL": "bool_contents",
    "INT8": "int_contents",
    "INT16": "int_contents",
    "INT32": "int_contents",
    "INT64": "int64_contents",
    "UINT8": "uint_contents",
    "UINT16": "uint_contents",
    "UINT32": "uint_contents",
    "UINT64": "uint64_contents",
    "FP32": "fp32_contents",
    "FP64": "fp64_contents",
    "BYTES": "bytes_contents",
}
TFS = {
    "Int64Value": "value 1 int64",
    "ModelSpec": "name 1 string, version 2 Int64Value|choice, signature_name 3 string, version_label 4 string|choice",
    "Dim": "size 1 int64, name 2 string",
    "TensorShape": "dim 2 *Dim, unknown_rank 3 bool",
    "Tensor": "dtype 1 int32, tensor_shape 2 TensorShape, tensor_content 4 bytes, float_val 5 *float, "
    "int_val 7 *int32, string_val 8 *bytes, int64_val 10 *int64",
    "PredictRequest": "model_spec 1 ModelSpec, inputs 2 map:Tensor",
    "PredictResponse": "outputs 1 map:Tensor, model_spec 2 ModelSpec",
    "GetModelMetadataRequest": "model_spec 1 ModelSpec, metadata_field 2 *string",
    "GetModelMetadataResponse": "model_spec 1 ModelSpec, metadata 2 map:Any",
    "Any": "type_url 1 string, value 2 bytes",
    "TensorInfo": "dtype 2 int32",
    "SignatureDef": "inputs 1 map:TensorInfo, outputs 2 map:TensorInfo",
    "SignatureDefMap": "signature_def 1 map:SignatureDef",
}
HEALTH = {"HealthCheckRequest": "service 1 string", "HealthCheckResponse": "status 1 int32"}
PACKAGE = "seqzoo"


@functools.cache
def classes(protocol):
    """The classes of the messages of a protocol, "v2", "tfs" or "health", by name."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(name=f"{protocol}.proto", package=PACKAGE, syntax="proto3")
    for name, fields in {"v2": V2, "tfs": TFS, "health": HEALTH}[protocol].items():
        _describe(file.message_type.add(name=name), fields)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    message_classes = message_factory.GetMessageClassesForFiles([file.name], pool)
    return {name.removeprefix(f"{PACKAGE}."): message_class for name, message_class in message_classes.items()}


def _describe(message, fields):
    for text in filter(None, fields.split(", ")):
        name, number, kind = text.split(" ")
        kind, _, choice = kind.partition("|")
        label = 3 if kind.startswith(("*", "map:")) else 1  # a list or a map is 3, as protobuf numbers them
        field = message.field.add(name=name, number=int(number), label=label)
        if kind.startswith("map:"):
            entry = f"{name.title().replace('_', '')}Entry"
            pair = message.nested_type.add(name=entry)
            pair.options.map_entry = True
            for number, side, entry_kind in ((1, "key", "string"), (2, "value", kind[4:])):
                _set_type(pair.field.add(name=side, number=number, label=1), entry_kind)
            field.type, field.type_name = field.TYPE_MESSAGE, f".{PACKAGE}.{message.name}.{entry}"
        else:
            _set_type(field, kind.lstrip("*"))
        if choice:
            if not message.oneof_decl:
                message.oneof_decl.add(name=choice)
            field.oneof_index = 0


def _set_type(field, kind):
    if kind[0].isupper():
        field.type, field.type_name = field.TYPE_MESSAGE, f".{PACKAGE}.{kind}"
    else:
        field.type = field.Type.Value(f"TYPE_{kind.upper()}")
