"""Normalisations as SentencePiece keeps them inside a model: every program that reads the model normalises alike.

`maintenance/charsmap_rules.py` defines them. It wrote the files of the folder `charsmaps`, compressed tries over UTF-8.
"""

import lzma
from pathlib import Path

import sentencepiece

from zoo.text.protobuf import field, fields

NAMES = ("nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "nfd", "identity")
FOLDER = Path(__file__).with_name("charsmaps")
_NORMALIZER = 3  # the field of SentencePiece's ModelProto; of its NormalizerSpec:
_NAME, _CHARSMAP = 1, 2


class Normalization:
    """One of `NAMES`: `normalize(text)` is the text as a model with it normalises it before cutting it into pieces."""

    def __init__(self, name):
        self.name, self._charsmap = name, lzma.decompress((FOLDER / f"{name}.xz").read_bytes())
        spec = field(_NAME, name.encode()) + field(_CHARSMAP, self._charsmap)
        self._normalizer = sentencepiece.SentencePieceNormalizer(
            model_proto=field(_NORMALIZER, spec),
            add_dummy_prefix=False,
            escape_whitespaces=False,
            remove_extra_whitespaces=False,
        )

    def normalize(self, text):
        """The text in this normal form; its white space stays."""
        return self._normalizer.Normalize(text)

    def put_into(self, model_bytes):
        """A SentencePiece model with this normalisation instead of the one that it has."""
        return with_charsmap(model_bytes, self.name, self._charsmap)


def with_charsmap(model_bytes, name, charsmap):
    """A SentencePiece model with another table of characters, of that name; its settings of white space stay."""
    parts = []
    for number, whole, body in fields(model_bytes):
        if number == _NORMALIZER:
            others = (one for number, one, _ in fields(body) if number not in (_NAME, _CHARSMAP))
            whole = field(_NORMALIZER, field(_NAME, name.encode()) + field(_CHARSMAP, charsmap) + b"".join(others))
        parts.append(whole)
    return b"".join(parts)


def charsmap_of(spec):
    """The table of a serialised NormalizerSpec; b"" where it has none."""
    return next((body for number, _, body in fields(spec) if number == _CHARSMAP), b"")


def rules_of(model_bytes):
    """`{text: its replacement}` of the table inside a SentencePiece model; {} where it has none."""
    specs = [body for number, _, body in fields(model_bytes) if number == _NORMALIZER]
    if not any(map(charsmap_of, specs)):
        return {}
    return dict(sentencepiece.SentencePieceNormalizer(model_proto=model_bytes).Decompile())
