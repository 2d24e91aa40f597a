"""The messages of the Open Inference Protocol, and tensors from them and into them."""

from types import SimpleNamespace

from serving.lazy import later
from serving.messages import CONTENTS, classes
from serving.server.faults import Fault, invalid
from serving.server.tensors import check_spec, from_raw, from_values, quote, raw_bytes, text_of
from serving.server.v2 import choose_tensors

protobuf = later("zoo.text.protobuf")

# Of a message, of its inputs and of their contents: each text is one, each number if it is not packed.
MOST_FIELDS = 1 << 14
pb = SimpleNamespace(**classes("v2"))
NESTED = (
    pb.ModelInferRequest.DESCRIPTOR.fields_by_name["inputs"].number,
    pb.InferTensor.DESCRIPTOR.fields_by_name["contents"].number,
)


def parse_message(kind, content):
    """A message from its bytes.

    Raises:
        Fault: they are none, or have too many values.
    """
    try:
        if len(content) > MOST_FIELDS:
            _count_left(memoryview(content), NESTED, MOST_FIELDS)
        return kind.FromString(content)
    except Fault:
        raise
    except Exception:  # ValueError, protobuf's DecodeError, or a string that is not UTF-8
        raise invalid(f"the message is not a {kind.DESCRIPTOR.name} of the Open Inference Protocol.") from None


def _count_left(content, nested, left):
    """How many of `left` fields are left after those of a message, and of the messages in its field `nested[0]`."""
    for number, _, value in protobuf.fields(content):
        left -= 1
        if left < 0:
            raise Fault("too_large", f"the message has more than {MOST_FIELDS} values. Send numbers raw, or packed.")
        if number in nested[:1]:
            left = _count_left(value, nested[1:], left)
    return left


def tensors(request, most):
    """The inputs of a `ModelInferRequest`.

    Args:
        most: the most texts of an input.

    Raises:
        Fault: one is malformed.
    """
    raws = request.raw_input_contents
    if raws and len(raws) != len(request.inputs):
        raise invalid(
            f"raw_input_contents must have one entry for each of the {len(request.inputs)} inputs; received "
            f"{len(raws)}."
        )
    inputs = []
    for number, each in enumerate(request.inputs):
        if raws and each.HasField("contents"):
            raise invalid(f"the input {quote(each.name)} has contents beside raw_input_contents: give one of them.")
        shape = list(each.shape)
        if raws:
            inputs.append(from_raw(each.name, each.datatype, shape, raws[number], most))
            continue
        datatype, _ = check_spec(each.name, each.datatype, shape)
        if datatype not in CONTENTS:
            raise invalid(f"the input {quote(each.name)} of type {datatype} must come as raw_input_contents.")
        field = CONTENTS[datatype]
        others = [other.name for other, _ in each.contents.ListFields() if other.name != field]
        if others:
            raise invalid(f"the input {quote(each.name)} of type {datatype} must be in {field}, not in {others[0]}.")
        values = list(getattr(each.contents, field))
        inputs.append(
            from_values(each.name, datatype, shape, [text_of(v) for v in values] if datatype == "BYTES" else values)
        )
    return inputs


def parameters(request):
    """The parameters of a request as Python values."""
    values = {}
    for name, value in request.parameters.items():
        kind = value.WhichOneof("choice")
        if kind is None:
            raise invalid(f"the parameter {quote(name)} has no value.")
        values[name] = {"bool_param": value.bool_param, "int64_param": value.int64_param}.get(kind, value.string_param)
    return values


def response(request, answer):
    """A `ModelInferResponse`, raw if the request was."""
    chosen = choose_tensors(answer.tensors, [each.name for each in request.outputs])
    raw, outputs = bool(request.raw_input_contents), []
    for tensor in chosen:
        output = pb.InferTensor(name=tensor.name, datatype=tensor.datatype, shape=tensor.shape)
        if not raw:
            getattr(output.contents, CONTENTS[tensor.datatype]).extend(_values(tensor))
        outputs.append(output)
    return pb.ModelInferResponse(
        model_name=answer.model,
        model_version=answer.version,
        id=request.id,
        outputs=outputs,
        raw_output_contents=[raw_bytes(tensor) for tensor in chosen] if raw else [],
    )


def _values(tensor):
    if tensor.datatype == "BYTES":
        return [text.encode("utf-8", "surrogateescape") for text in tensor.data]
    return tensor.data.ravel().tolist()
