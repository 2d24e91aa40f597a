"""The real schemas of what `seqzoo deploy` writes; schemas/SOURCES.md says where they come from."""

import functools
import gzip
import json
from pathlib import Path

import jsonschema
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format, wrappers_pb2

FOLDER = Path(__file__).parent / "schemas"


def read(name):
    return gzip.decompress((FOLDER / name).read_bytes())


@functools.cache
def message(name):
    """The class of a message of `configs.pb.gz`, such as "tensorflow.serving.BatchingParameters"."""
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(wrappers_pb2.DESCRIPTOR.serialized_pb)
    for file in descriptor_pb2.FileDescriptorSet.FromString(read("configs.pb.gz")).file:
        pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(name))


def parsed(name, text):
    """The message that a text is; a field that it does not have is an error."""
    return text_format.Parse(text, message(name)())


def check(name, value):
    """Check a JSON value against a schema; of KServe's, a field that it does not have is an error, too."""
    schema = json.loads(read(f"{name}.json.gz"))
    if name == "inferenceservice":
        closed(schema)
    jsonschema.validate(value, schema, cls=jsonschema.Draft7Validator)


def closed(schema):
    """The same schema, which allows no further properties wherever some are named, as a strict cluster does."""
    if isinstance(schema, list):
        for each in schema:
            closed(each)
    elif isinstance(schema, dict):
        if isinstance(schema.get("properties"), dict) and schema["properties"]:
            schema.setdefault("additionalProperties", False)
        for each in schema.values():
            closed(each)
    return schema
