"""The file of a tokenizer that is not SentencePiece's: one JSON object, with its pieces and all that cuts texts.

    {"tokenizer": "wordpiece", "before": [2], "after": [3], "special": [0, 2, 3], ..., "pieces": ["[PAD]", ...]}

`special` are the ids that no text holds and that no text shows. The other settings belong to the kind.
"""

import json
from abc import abstractmethod

from zoo.text.base import EOS, UNK, UNKNOWN, Around, BaseTokenizer, check_texts, range_error

FIRST = (0, 2, 3)  # PAD, BOS and EOS are special in every vocabulary


class JsonTokenizer(BaseTokenizer):
    """A tokenizer whose file is JSON.

    Args:
        model_bytes: the content of the file.

    Raises:
        ValueError: the bytes are no such file, or a tokenizer of another kind.
    """

    kind = ""
    keys: dict[str, type] = {}  # the settings of this kind, beside those of all

    def __init__(self, model_bytes: bytes):
        self.settings = read_settings(model_bytes)
        expected = {"tokenizer", "before", "after", "special", "pieces", *self.keys}
        is_kind = self.settings["tokenizer"] == self.kind and self.settings.keys() == expected
        if not is_kind or any(type(self.settings[key]) is not kind for key, kind in self.keys.items()):
            raise ValueError(
                f"Expected a tokenizer of the kind {self.kind!r} with {sorted(expected)}; received "
                f"{self.settings['tokenizer']!r} with {sorted(self.settings)}."
            )
        self._pieces = self.settings["pieces"]
        if len(self._pieces) <= EOS or len(set(self._pieces)) < len(self._pieces):
            raise ValueError(
                "Expected pieces of which each is there once, the first for PAD, UNK, BOS and EOS; received "
                f"{len(self._pieces)}, and {len(set(self._pieces))} different ones."
            )
        self.special = frozenset({*FIRST, *self.settings["special"]})
        super().__init__(model_bytes, Around(tuple(self.settings["before"]), tuple(self.settings["after"])))

    @classmethod
    def write(cls, **settings):
        """The tokenizer of these settings."""
        document = {"tokenizer": cls.kind, **settings}
        pieces = document.pop("pieces")  # last, so that who reads the file sees the settings first
        return cls(json.dumps(document | {"pieces": pieces}, ensure_ascii=False, separators=(",", ":")).encode())

    def with_around(self, before=(), after=(EOS,)):
        """The same tokenizer with other ids around its texts."""
        rest = {name: value for name, value in self.settings.items() if name != "tokenizer"}
        return self.write(**(rest | {"before": list(before), "after": list(after)}))

    @property
    def vocab_size(self) -> int:
        """Number of pieces, the four special ones included."""
        return len(self._pieces)

    @property
    def pieces(self) -> list[str]:
        """The pieces in the order of their ids, as the vocabulary writes them."""
        return list(self._pieces)

    def encode(self, texts: list[str]) -> list[list[int]]:
        """Token ids of each text, without what stands around it."""
        return [[token for word in self.words(text) for token in word] for text in check_texts(texts)]

    def decode(self, token_ids: list[list[int]]) -> list[str]:
        """Text of each sequence; special ids are dropped, UNK shows as the sign ⁇."""
        rows = [[int(token) for token in sequence] for sequence in token_ids]
        if any(not 0 <= token < self.vocab_size for row in rows for token in row):
            raise range_error(rows, self.vocab_size)
        return [self._join([token for token in row if token not in self.special]) for row in rows]

    def _piece(self, token):
        return UNKNOWN.strip() if token == UNK else self._pieces[token]

    @abstractmethod
    def _join(self, ids):
        """The text of ids, of which none is special."""


def read_settings(model_bytes):
    """The settings of a file.

    Raises:
        ValueError: the bytes are no tokenizer.
    """
    try:
        settings = json.loads(bytes(model_bytes).decode())
        assert isinstance(settings, dict) and isinstance(settings["tokenizer"], str)
        assert all(isinstance(each, str) for each in settings["pieces"])
        assert all(type(token) is int for name in ("before", "after", "special") for token in settings[name])
    except (ValueError, KeyError, TypeError, RecursionError, AssertionError) as error:
        raise ValueError(
            f"The {len(model_bytes)} bytes are no tokenizer: expected a JSON object with tokenizer, before, after, "
            "special and pieces."
        ) from error
    return settings
