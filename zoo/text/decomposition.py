"""Unicode's canonical decomposition (NFD) as a table that SentencePiece keeps inside its model."""

import contextlib
import sys
import tempfile
import unicodedata
from pathlib import Path


def rules():
    """The table: code points in hexadecimal, a TAB, and the code points that they come apart into.

    Each character comes apart by itself, so marks that follow each other keep their order.
    """
    lines = []
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        apart = unicodedata.normalize("NFD", character)
        if apart != character:
            lines.append(f"{code:X}\t{' '.join(f'{ord(each):X}' for each in apart)}\n")
    return "".join(lines)


@contextlib.contextmanager
def rule_file():
    """A file of the table, as long as the context is open."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "nfd.tsv"
        path.write_text(rules(), encoding="utf-8")
        yield path


NORMALIZER, RULE_FILE = 3, 6  # fields of SentencePiece's ModelProto, and of its NormalizerSpec


def without_rule_file(model_bytes):
    """The model without the path of the table's file, so that the same sentences give the same bytes."""
    parts = []
    for number, head, body in _fields(model_bytes):
        if number == NORMALIZER:
            body = b"".join(one + rest for field, one, rest in _fields(body) if field != RULE_FILE)
            head = head[:1] + _varint(len(body))
        parts.append(head + body)
    return b"".join(parts)


def _fields(message):
    """(number, tag and length, content) of each field of a message in protobuf's wire format."""
    at = 0
    while at < len(message):
        start = at
        tag, at = _read_varint(message, at)
        kind = tag & 7
        if kind == 2:
            size, at = _read_varint(message, at)
        elif kind == 0:
            size = _read_varint(message, at)[1] - at
        else:
            size = {1: 8, 5: 4}[kind]
        yield tag >> 3, message[start:at], message[at : at + size]
        at += size


def _read_varint(message, at):
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def _varint(value):
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])
