"""Tensors from JSON, raw bytes and messages: the same values, or a sentence that says what is wrong."""

import json
import struct

import numpy as np
import pytest

from serving.server import bodies, messages
from serving.server.bodies import parse
from serving.server.faults import Fault
from serving.server.tensors import Tensor, from_raw, from_values, raw_bytes

TEXTS = ["", "a", "日本", "a\0b", "\U0001f600" * 50]


def test_texts_come_back_from_their_bytes():
    tensor = from_values("text", "BYTES", [5], TEXTS)
    raw = raw_bytes(tensor)
    expected = b"".join(struct.pack("<I", len(text.encode())) + text.encode() for text in TEXTS)
    assert raw == expected and from_raw("text", "BYTES", [5], memoryview(raw)).data == TEXTS


@pytest.mark.parametrize("datatype", ["INT8", "INT32", "INT64", "UINT8", "UINT64", "FP16", "FP32", "FP64"])
def test_numbers_come_back_from_their_bytes(datatype):
    tensor = from_values("x", datatype, [2, 3], [[1, 2, 3], [4, 5, 6]])
    assert tensor.data.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert from_raw("x", datatype, [2, 3], raw_bytes(tensor)).data.tolist() == tensor.data.tolist()
    assert raw_bytes(tensor)[: tensor.data.itemsize] == np.array(1, tensor.data.dtype.newbyteorder("<")).tobytes()


def test_bytes_that_are_no_text_are_kept_for_the_runtime_to_refuse():
    raw = struct.pack("<I", 2) + b"a\xff" + struct.pack("<I", 1) + b"b"
    tensor = from_raw("text", "BYTES", [2], raw)
    assert tensor.data == ["a\udcff", "b"] and raw_bytes(tensor) == raw


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b'{"a": "\\ud800"}', {"a": "\ud800"}),
        (b'{"a": "x\xffy"}', {"a": "x\udcffy"}),
        ('{"a": "日"}'.encode(), {"a": "日"}),
        (b"\xef\xbb\xbf{}", None),
        (b'{"a": NaN}', None),
        (b'{"a": 1e999}', None),
        (b"[]", None),
        (b"", None),
        (b"[" * 60_000, None),
        (b'{"a": 1', None),
    ],
    ids=range(10),
)
def test_json_is_strict_but_for_texts(body, expected):
    if expected is None:
        with pytest.raises(Fault, match="the body must be a JSON object"):
            parse(body)
    else:
        assert parse(body) == expected


@pytest.mark.parametrize(
    ("datatype", "shape", "values", "message"),
    [
        ("STRING", [1], ["a"], "datatype of 'x' must be one of BYTES, BOOL"),
        (None, [1], ["a"], "datatype of 'x' must be one of"),
        ("BYTES", None, ["a"], "a list of at most 8 sizes"),
        ("BYTES", [-1], ["a"], "each a whole number of at least 0; received a list|received"),
        ("BYTES", [1.0], ["a"], "each a whole number"),
        ("BYTES", [True], ["a"], "each a whole number"),
        ("BYTES", [1] * 9, ["a"], "at most 8 sizes"),
        ("BYTES", [2], ["a"], r"of shape \[2\] has 2 values; received 1"),
        ("BYTES", [2**31 - 1] * 8, ["a"], "values; received 1"),
        ("BYTES", [1], [1], "must be strings; received 1"),
        ("BYTES", [1], [None], "must be strings; received"),
        ("BYTES", [1], "a", "must be a list; received 'a'"),
        ("BYTES", [2], ["a", ["b"]], "mixes lists and values"),
        ("INT32", [1], [1.5], "must be whole numbers; received 1.5"),
        ("INT32", [1], [True], "must be whole numbers; received True"),
        ("INT32", [1], ["1"], "must be whole numbers; received '1'"),
        ("INT32", [1], [2**31], "a number that INT32 cannot hold"),
        ("UINT8", [1], [-1], "a number that UINT8 cannot hold"),
        ("INT64", [1], [10**400], "a number that INT64 cannot hold"),
        ("FP32", [1], [10**400], "a number that FP32 cannot hold"),
        ("FP32", [1], ["x" * 500], r"must be numbers; received 'x{76}\.\.\."),
    ],
)
def test_what_is_wrong_is_said(datatype, shape, values, message):
    with pytest.raises(Fault, match=message) as caught:
        from_values("x", datatype, shape, values)
    assert caught.value.kind == "invalid" and len(caught.value.sentence) < 400


@pytest.mark.parametrize(
    ("datatype", "shape", "raw", "message"),
    [
        ("INT32", [2], b"1234", "has 8 bytes; received 4"),
        ("BYTES", [1], b"\x02\0\0\0a", "end inside a text"),
        ("BYTES", [1], b"\x02\0", "end inside a text"),
        ("BYTES", [2], b"\x01\0\0\0a", "has 2 values; received 1"),
        ("BYTES", [1], b"\xff\xff\xff\xffa", "end inside a text"),
    ],
)
def test_what_is_wrong_in_bytes_is_said(datatype, shape, raw, message):
    with pytest.raises(Fault, match=message):
        from_raw("x", datatype, shape, memoryview(raw))


def test_an_empty_tensor():
    assert from_values("x", "BYTES", [0], []).data == [] and raw_bytes(Tensor("x", "BYTES", (0,), [])) == b""
    assert from_values("x", "INT32", [0, 3], []).data.shape == (0, 3)


class Counting(bytes):
    """Bytes of which it is counted how often a part is taken."""

    taken = 0

    def __getitem__(self, where):
        self.taken += 1
        return super().__getitem__(where)


@pytest.mark.parametrize("shape, sentence", [([1], "has 1 values; received more"), ([1 << 20], "may have 9 texts")])
def test_texts_are_counted_before_they_are_made(shape, sentence):
    raw = Counting(bytes(4 << 20))  # a million of no characters
    with pytest.raises(Fault, match=sentence):
        from_raw("x", "BYTES", shape, raw, most=9)
    assert raw.taken < 10


LARGE = 1 << 17


@pytest.mark.parametrize(
    "body",
    [b"[]," * LARGE, b'{"a": 1},' * LARGE, b"[" * LARGE, b"1," * (9 * LARGE), b'"",' * (9 * LARGE), b'"[",[],' * LARGE],
    ids=["lists", "objects", "nested", "numbers", "texts", "both"],
)
def test_json_with_too_many_values_is_not_read(body, monkeypatch):
    monkeypatch.setattr(bodies.orjson, "loads", lambda *_: pytest.fail("it was read"))
    with pytest.raises(Fault, match="more than 65,536 lists or 1,048,576 values") as caught:
        parse(b'{"instances": [' + body + b"0]}")
    assert caught.value.http == 413


def test_json_whose_texts_look_like_lists_is_read():
    text = '[{,"\\' * (1 << 20)
    expected = {"instances": [text, "a"], "b": [1] * 1000}
    assert parse(json.dumps(expected).encode()) == expected


@pytest.mark.parametrize("packed", [True, False], ids=["packed", "one by one"])
def test_messages_with_too_many_values_are_not_read(packed):
    """Texts, or numbers that are not packed, of which each is a field; packed numbers are one, however many."""
    request = messages.pb.ModelInferRequest()
    contents = request.inputs.add().contents
    if packed:
        contents.int_contents.extend([7] * (1 << 20))
        contents.bytes_contents.extend([b"a"] * 1024)
        assert messages.parse_message(messages.pb.ModelInferRequest, request.SerializeToString()) == request
        return
    contents.bytes_contents.extend([b""] * (1 << 20))
    with pytest.raises(Fault, match="more than 16384 values"):
        messages.parse_message(messages.pb.ModelInferRequest, request.SerializeToString())
    cut = request.SerializeToString()[:20_000]
    with pytest.raises(Fault):
        messages.parse_message(messages.pb.ModelInferRequest, cut)
