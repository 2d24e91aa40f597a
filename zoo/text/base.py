"""The base of all tokenizers: the four ids that every vocabulary shares, what stands around texts, and a class."""

import functools
import os
from abc import ABC, abstractmethod
from pathlib import Path
from typing import NamedTuple

from zoo.core.storage import write_bytes

PAD = 0  # fills a row up to the static length of its batch
UNK = 1  # a character the vocabulary does not hold
BOS = 2  # first decoder input
EOS = 3  # last token of every source and of every label sequence
UNKNOWN = " \u2047 "  # the sign of UNK in texts, as in SentencePiece


class Around(NamedTuple):
    """The token ids that stand around the own ones of every text, as ids of a language do; both count as read."""

    before: tuple[int, ...] = ()
    after: tuple[int, ...] = (EOS,)

    def put(self, ids):
        """The ids of a text with these around them."""
        return [*self.before, *ids, *self.after]

    @property
    def size(self):
        """The number of both."""
        return len(self.before) + len(self.after)


AROUND = Around()


def read_tokenizer(path, make):
    """`make(the bytes of a file)`; its `ValueError` names the file."""
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"No tokenizer at {path}: there is no such file.")
    try:
        return make(path.read_bytes())
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


class BaseTokenizer(ABC):
    """Turns texts into token ids and back. `zoo.text.load_tokenizer` finds the kind of a file from its content.

    The bytes of the file are the whole state: every program that reads them gives the same ids.

    Attributes:
        model_bytes: the content of the file.
        around: the `Around` of its texts; `before` and `after` are its parts.
        kind: its name in a file that is JSON; "" for SentencePiece.
        special: the ids that a decoder must leave out; SentencePiece leaves its own out itself.
    """

    kind = ""
    special: frozenset[int] = frozenset()

    def __init__(self, model_bytes: bytes, around: Around):
        self.model_bytes, self.around = bytes(model_bytes), around
        wrong = [token for token in around.before + around.after if not 0 <= token < self.vocab_size]
        if wrong:
            raise ValueError(
                f"What stands around a text must be ids in [0, {self.vocab_size}), the size of the vocabulary; "
                f"received {wrong}."
            )

    @property
    def before(self) -> tuple[int, ...]:
        """The token ids that stand before every text."""
        return self.around.before

    @property
    def after(self) -> tuple[int, ...]:
        """The token ids that stand behind every text."""
        return self.around.after

    @property
    @abstractmethod
    def vocab_size(self) -> int:
        """Number of pieces, the four special ones included."""

    @property
    @abstractmethod
    def pieces(self) -> list[str]:
        """The pieces in the order of their ids."""

    @functools.cached_property
    def log_probabilities(self) -> list[float]:
        """How common each piece is where pieces were learnt: log p, up to a constant; -1 where the file has none."""
        return [-1.0] * self.vocab_size

    @abstractmethod
    def with_around(self, before: tuple[int, ...] = (), after: tuple[int, ...] = (EOS,)) -> "BaseTokenizer":
        """The same tokenizer with other ids around its texts."""

    @abstractmethod
    def encode(self, texts: list[str]) -> list[list[int]]:
        """Token ids of each text, without what stands around it."""

    @abstractmethod
    def words(self, text: str) -> list[list[int]]:
        """The token ids of each word of a text; together they are those of the text."""

    @abstractmethod
    def decode(self, token_ids: list[list[int]]) -> list[str]:
        """Text of each sequence; PAD, BOS, EOS and other ids that stand for no text are dropped, UNK shows as ⁇."""

    def encode_words(self, words: list[str]) -> list[list[int]]:
        """Token ids of each word by itself, as a tagger reads it: at least one, UNK where it has no piece."""
        return [ids or [UNK] for ids in self.encode(words)]

    def segmentations(self, word: str, count: int) -> list[tuple[list[int], float]]:
        """At most `count` ways to spell a word, the most probable first, as (token ids, log-probability)."""
        return [(self.encode([word])[0], 0.0)]

    @classmethod
    def load(cls, path: str | os.PathLike) -> "BaseTokenizer":
        """Reads a file of this kind; `ValueError` if it is missing or of another kind."""
        return read_tokenizer(path, cls)

    def save(self, path: str | os.PathLike) -> None:
        """Writes the file; a crash leaves the old file or the new one, never a part."""
        write_bytes(path, self.model_bytes)


def check_texts(texts):
    """The texts as a list; `TypeError` if they are one string."""
    if isinstance(texts, str):
        raise TypeError(f"encode expects a list of strings; received the string {texts!r}.")
    return list(texts)


def range_error(rows, vocab_size):
    """The `ValueError` for ids outside of a vocabulary."""
    outside = next(token for row in rows for token in row if not 0 <= token < vocab_size)
    return ValueError(f"Token ids must lie in [0, {vocab_size}), the size of the vocabulary; received {outside}.")
