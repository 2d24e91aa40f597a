"""Normalisations as SentencePiece keeps them inside a model: every program that reads the model normalises alike.

What they are is said by `zoo.text.charsmap_rules`, which wrote the files of the folder `charsmaps`: tables of a trie
over UTF-8, compressed.
"""

import lzma
from pathlib import Path

import sentencepiece

NAMES = ("nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "nfd", "identity")
FOLDER = Path(__file__).with_name("charsmaps")
_NORMALIZER = 3  # the field of SentencePiece's ModelProto; of its NormalizerSpec:
_NAME, _CHARSMAP = 1, 2


class Normalization:
    """One of `NAMES`: `normalize(text)` is what a model that holds it makes of a text before it is cut into pieces."""

    def __init__(self, name):
        self.name, self._charsmap = name, lzma.decompress((FOLDER / f"{name}.xz").read_bytes())
        own = _field(_NAME, name.encode()) + _field(_CHARSMAP, self._charsmap)
        self._normalizer = sentencepiece.SentencePieceNormalizer(
            model_proto=_field(_NORMALIZER, own),
            add_dummy_prefix=False,
            escape_whitespaces=False,
            remove_extra_whitespaces=False,
        )

    def normalize(self, text):
        """The text in this normal form, its white space as it is."""
        return self._normalizer.Normalize(text)

    def within(self, model_bytes):
        """A SentencePiece model with this normalisation instead of the one that it has."""
        parts = []
        for number, whole, body in _fields(model_bytes):
            if number == _NORMALIZER:
                others = (one for field, one, _ in _fields(body) if field not in (_NAME, _CHARSMAP))
                own = _field(_NAME, self.name.encode()) + _field(_CHARSMAP, self._charsmap)
                whole = _field(_NORMALIZER, own + b"".join(others))
            parts.append(whole)
        return b"".join(parts)


def charsmap_of(spec):
    """The table of a serialised NormalizerSpec."""
    return next(body for number, _, body in _fields(spec) if number == _CHARSMAP)


def _fields(message):
    """(number, the whole field, its content) of each field of a message in protobuf's wire format."""
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
        yield tag >> 3, message[start : at + size], message[at : at + size]
        at += size


def _field(number, content):
    """A field of bytes."""
    return _varint(number << 3 | 2) + _varint(len(content)) + content


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
