"""Tokenizers of any kind, which the content of their file decides."""

import os
import re

from zoo.text.base import BaseTokenizer, read_tokenizer
from zoo.text.byte_pairs import BytePairs
from zoo.text.json_tokenizer import read_settings
from zoo.text.tokenizer import Tokenizer
from zoo.text.wordpiece import WordPiece

KINDS = {kind.kind: kind for kind in (WordPiece, BytePairs)}


def load_tokenizer(source: str | os.PathLike | bytes) -> BaseTokenizer:
    """The tokenizer of a file, or of its content: a `Tokenizer`, `WordPiece` or `BytePairs`, whatever its name ends in.

    Raises:
        ValueError: there is no such file, or its content is no tokenizer.
    """
    return _from_bytes(source) if isinstance(source, bytes) else read_tokenizer(source, _from_bytes)


def _from_bytes(content):
    if not content.startswith(b"{"):  # which begins no SentencePiece model
        return Tokenizer(content)
    kind = read_settings(content)["tokenizer"]
    if kind not in KINDS:
        raise ValueError(f"This seqzoo knows no tokenizer of the kind {kind!r}; it knows {sorted(KINDS)}.")
    try:
        return KINDS[kind](content)
    except (TypeError, LookupError, AttributeError, OverflowError, re.error) as error:
        raise ValueError(f"The tokenizer is damaged: {error!r}. Copy or import it again.") from error
