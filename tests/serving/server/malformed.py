"""Requests that are nearly right: each has one fault or more, drawn from a seed."""

import base64
import json
import random

import numpy as np

from serving.server.messages import CONTENTS, pb
from serving.server.tensors import DATATYPES

NAMES = ("generate", "continue", "classify", "compare", "tag")
ODD = (
    None,
    True,
    -1,
    0,
    2**31,
    2**63,
    10**300,
    1.5,
    "",
    "a",
    "\0",
    "日" * 50,
    [],
    {},
    [[]],
    {"b64": 1},
    [None],
    {"a": []},
)


def anything(rng, depth=0):
    """A JSON value."""
    if depth > 3 or rng.random() < 0.7:
        return rng.choice(ODD)
    if rng.random() < 0.5:
        return [anything(rng, depth + 1) for _ in range(rng.randrange(4))]
    return {rng.choice(("text", "b64", "name", "x")): anything(rng, depth + 1) for _ in range(rng.randrange(3))}


def spoiled(rng, value):
    """A JSON value of which one part, somewhere, is another one, or missing."""
    if isinstance(value, dict) and value and rng.random() < 0.85:
        key = rng.choice(sorted(value))
        rest = {name: held for name, held in value.items() if name != key}
        what = rng.random()
        if what < 0.15:
            return rest
        return rest | {key + "x" if what < 0.25 else key: spoiled(rng, value[key])}
    if isinstance(value, list) and value and rng.random() < 0.7:
        place = rng.randrange(len(value))
        return [*value[:place], spoiled(rng, value[place]), *value[place + 1 :]]
    return anything(rng)


def good(rng):
    """`(path, body)` of a right request."""
    name = rng.choice(NAMES)
    texts = [rng.choice(("abc", "", "日本", "a b c")) for _ in range(rng.randrange(1, 4))]
    columns = {"first_text": texts, "second_text": texts} if name == "compare" else {"text": texts}
    ids = {"token_ids": [[5, 6, 3]], "lengths": [3]}
    if rng.random() < 0.5:
        inputs = [
            {"name": key, "datatype": "BYTES", "shape": [len(texts)], "data": held} for key, held in columns.items()
        ]
        body = {
            "id": "1",
            "inputs": inputs,
            "parameters": {},
            "outputs": [{"name": "errors", "parameters": {"binary_data": False}}],
        }
        if rng.random() < 0.3:
            name = "generate"
            inputs = [
                {"name": key, "datatype": "INT32", "shape": list(np.shape(held)), "data": held}
                for key, held in ids.items()
            ]
            body = {"inputs": inputs, "parameters": {"signature": "tokens"}}
        return f"/v2/models/{name}/infer", body
    body = {"signature_name": "serving_default", "inputs": columns}
    if rng.random() < 0.4:
        body = {"instances": [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]}
    elif rng.random() < 0.3:
        name, body = "generate", {"signature_name": "tokens", "inputs": ids}
    return f"/v1/models/{name}:predict", body


def http_request(seed):
    """`(path, headers, bytes)` of a request that is wrong, or nearly."""
    rng = random.Random(seed)
    path, body = good(rng)
    for _ in range(rng.randrange(1, 3)):
        body = spoiled(rng, body)
    content, headers = json.dumps(body).encode(), {}
    what = rng.random()
    if what < 0.1:
        content = content[: rng.randrange(len(content) + 1)]
    elif what < 0.2:
        held = bytearray(content)
        for _ in range(rng.randrange(1, 4)):
            held[rng.randrange(len(held))] = rng.randrange(256)
        content = bytes(held)
    elif what < 0.25:
        content = rng.randbytes(rng.randrange(200))
    if what > 0.9:
        headers["Inference-Header-Content-Length"] = rng.choice(("0", "5", str(len(content)), "-3", "x", "9" * 30))
        content += rng.randbytes(rng.randrange(20))
    if rng.random() < 0.05:
        headers["Request-Timeout"] = rng.choice(("", "-1", "1e999", "soon", "0"))
    if rng.random() < 0.05:
        path = rng.choice(
            ("/v2/models/nobody/infer", "/v1/models/:predict", "/v2/models/generate/versions/x/infer", path + "x")
        )
    return path, headers, content


def grpc_request(seed):
    """The bytes of a ModelInferRequest that is wrong, or nearly."""
    rng = random.Random(seed)
    request = pb.ModelInferRequest(model_name=rng.choice((*NAMES, "nobody", "")), id="1")
    request.model_version = rng.choice(("", "7", "8", "x"))
    for _ in range(rng.randrange(3)):
        datatype = rng.choice((*DATATYPES, "BYTES", "BYTES", "", "STRING", "int32"))
        name = rng.choice(("text", "first_text", "second_text", "token_ids", "lengths", "", "x"))
        shape = [rng.choice((-1, 0, 1, 2, 3, 2**40)) for _ in range(rng.randrange(4))]
        made = request.inputs.add(name=name, datatype=datatype, shape=shape)
        if rng.random() < 0.7:
            field = CONTENTS.get(datatype) if rng.random() < 0.7 else rng.choice(sorted(CONTENTS.values()))
            values = [rng.choice((0, 1, 5)) for _ in range(rng.randrange(4))]
            if field == "bytes_contents":
                values = [rng.choice((b"abc", b"\xff", b"")) for _ in values]
            if field:
                getattr(made.contents, field).extend(
                    [bool(value) for value in values] if field[0:2] == "bo" else values
                )
    if rng.random() < 0.3:
        request.raw_input_contents.extend(rng.randbytes(rng.randrange(12)) for _ in range(rng.randrange(3)))
    if rng.random() < 0.3:
        parameter = request.parameters[rng.choice(("beam", "n_best", "sample", "signature", "x"))]
        which = rng.randrange(4)
        if which == 0:
            parameter.int64_param = rng.choice((-1, 0, 1, 4, 2**62))
        elif which == 1:
            parameter.string_param = rng.choice(("", "true", "tokens", "1e9", base64.b64encode(b"x" * 90).decode()))
        elif which == 2:
            parameter.bool_param = True
    content = request.SerializeToString()
    what = rng.random()
    if what < 0.15 and content:
        held = bytearray(content)
        held[rng.randrange(len(held))] ^= 1 << rng.randrange(8)
        content = bytes(held)
    elif what < 0.25:
        content = content[: rng.randrange(len(content) + 1)]
    elif what < 0.3:
        content = rng.randbytes(rng.randrange(100))
    return content
