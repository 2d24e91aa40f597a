"""The tokenizers of BERT and GPT-2, whose file is one JSON object, with the pieces and all that cuts texts.

    {"tokenizer": "wordpiece", "before": [2], "after": [3], "special": [0, 2, 3], ..., "pieces": ["[PAD]", ...]}

`special` are the ids that no text holds and that no text shows. The other settings belong to the kind.
"""

import heapq
import json
import re
from abc import abstractmethod

from zoo.text.base import AROUND, BOS, EOS, UNK, UNKNOWN, Around, BaseTokenizer, check_texts, range_error
from zoo.text.characters import SPACES, character_class, contains, replacements, tables, union

FIRST = (0, 2, 3)  # PAD, BOS and EOS are special in every vocabulary
LONGEST = 100  # characters of a word; a longer one is unknown
ENDINGS = ("s", "t", "re", "ve", "m", "ll", "d")  # with an apostrophe before them they are words, as in "it's"


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


class WordPiece(JsonTokenizer):
    """Normalises a text, splits it at white space and around punctuation, and cuts each word into pieces.

    It is WordPiece (Schuster and Nakajima, 2012) as BERT has it.
    From its left end a word is cut into the longest piece that the vocabulary has; pieces inside a word are written
    with a prefix, "##ing". A word with a part that is in no piece is UNK as a whole.

    Args:
        model_bytes: a file of `WordPiece.make`, with the pieces and the replacement of each character.

    Example:
        >>> from zoo.text import WordPiece
        >>> tokenizer = WordPiece.make(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "zoo", "##s", "!"])
        >>> tokenizer.encode(["Zoos!"]), tokenizer.before, tokenizer.after
        ([[4, 5, 6]], (2,), (3,))
    """

    kind = "wordpiece"
    keys = {"prefix": str, "longest": int, "removed": list, "alone": list, "becomes": dict}

    def __init__(self, model_bytes: bytes):
        super().__init__(model_bytes)
        settings = self.settings
        self._becomes = str.maketrans(settings["becomes"])
        self._removed, self._alone = (
            re.compile(f"[{character_class(settings[name])}]" if settings[name] else "(?!)")
            for name in ("removed", "alone")
        )
        self._first = {piece: token for token, piece in enumerate(self._pieces) if token not in {*self.special, UNK}}
        self._most, size = max(map(len, self._first), default=0), len(settings["prefix"])
        self._inner = {
            piece[size:]: token
            for piece, token in self._first.items()
            if piece.startswith(settings["prefix"]) and len(piece) > size
        }

    @classmethod
    def make(
        cls,
        pieces: list[str],
        *,
        lowercase: bool = True,
        strip_accents: bool | None = None,
        ideographs: bool = True,
        clean: bool = True,
        special: tuple[int, ...] = (),
        longest: int = LONGEST,
    ) -> "WordPiece":
        """The tokenizer of a vocabulary, with BOS before and EOS behind every text.

        Args:
            pieces: the vocabulary; the first four are PAD, UNK, BOS ("[CLS]") and EOS ("[SEP]").
            lowercase: whether texts are read in lower case.
            strip_accents: whether accents are taken off; None is as `lowercase`.
            ideographs: whether each ideograph of Chinese is a word.
            clean: whether control characters are removed.
            special: ids of more pieces that stand for no text, such as "[MASK]".
            longest: the characters of the longest word that is cut.
        """
        table = tables()
        strip_accents = lowercase if strip_accents is None else strip_accents
        alphabet = {character for piece in pieces for character in piece}
        alone = union(table["punctuation"], *([table["ideographs"]] if ideographs else []))
        images = replacements(lowercase=lowercase, strip_accents=strip_accents, clean=clean)
        return cls.write(
            before=[BOS],
            after=[EOS],
            special=sorted({*FIRST, *special}),
            prefix="##",
            longest=longest,
            removed=table["removed"] if clean else [],
            alone=alone,
            becomes={one: other for one, other in images.items() if _matters(one, other, alphabet, alone)},
            pieces=list(pieces),
        )

    def words(self, text: str) -> list[list[int]]:
        """The token ids of each word of a text; together they are those of the text."""
        text = self._removed.sub("", text.translate(self._becomes))
        return [self._cut(word) for word in self._alone.sub(r" \g<0> ", text).split(" ") if word]

    def _cut(self, word):
        if len(word) > self.settings["longest"]:
            return [UNK]
        ids, start, pieces = [], 0, self._first
        while start < len(word):
            stop = min(len(word), start + self._most)
            while stop > start and word[start:stop] not in pieces:
                stop -= 1
            if stop == start:
                return [UNK]
            ids.append(pieces[word[start:stop]])
            start, pieces = stop, self._inner
        return ids

    def _join(self, ids):
        return " ".join(map(self._piece, ids)).replace(f" {self.settings['prefix']}", "")


def _matters(one, other, alphabet, alone):
    """Whether a replacement can change the pieces of a text; if not, the character's word is unknown either way."""
    cuts = other in ("", " ") or any(contains(alone, ord(each)) for each in one + other)
    return cuts or one in alphabet or set(other) <= alphabet


def byte_signs() -> list[str]:
    """The sign of each of the 256 bytes: itself where it is visible, else a character from U+0100 on."""
    visible = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    substitutes = iter(range(0x100, 0x200))
    return [chr(byte if byte in visible else next(substitutes)) for byte in range(256)]


class BytePairs(JsonTokenizer):
    """Splits a text into words, writes each as bytes, and merges pairs of pieces in the order of a list.

    Byte pair encoding over bytes: Radford et al. (2019), "Language Models are Unsupervised Multitask Learners".
    Of all pairs of neighbours in a word the one that comes first in the list is merged, the leftmost of equal ones,
    until no pair is in the list. Every text has pieces, and `decode(encode(text)) == text`, but for the space that
    `prefix_space` puts before a text.

    Args:
        model_bytes: a file of `BytePairs.make`, with the pieces, the merges, and the tables of letters and numbers.

    Example:
        >>> from zoo.text.json_tokenizers import BytePairs, byte_signs
        >>> pieces = ["<pad>", "<unk>", "<s>", "</s>", *byte_signs(), "Ġz", "oo", "Ġzoo"]
        >>> tokenizer = BytePairs.make(pieces, [("Ġ", "z"), ("o", "o"), ("Ġz", "oo")])
        >>> [tokenizer.pieces[token] for token in tokenizer.encode(["A zoo"])[0]]
        ['A', 'Ġzoo']
    """

    kind = "byte_pairs"
    keys = {"prefix_space": bool, "letters": list, "numbers": list, "merges": list}

    def __init__(self, model_bytes: bytes):
        super().__init__(model_bytes)
        settings, places = self.settings, {piece: token for token, piece in enumerate(self._pieces)}
        bytes_of = {sign: byte for byte, sign in enumerate(byte_signs())}
        missing = [sign for sign in bytes_of if sign not in places]
        if missing:
            raise ValueError(f"The vocabulary must have a piece for each byte; those of {missing} are missing.")
        self.byte_ids = [places[sign] for sign in bytes_of]
        self.ranks, self.results, merged_pieces = {}, [], set()
        for left, right in zip(settings["merges"][::2], settings["merges"][1::2], strict=True):
            self.ranks.setdefault((left, right), len(self.results))
            self.results.append(places[self._pieces[left] + self._pieces[right]])
            merged_pieces |= {left, right}
            if self.results[-1] in merged_pieces:
                raise ValueError(
                    f"The merge of {self._pieces[left]!r} and {self._pieces[right]!r} comes behind one that needs its "
                    "result; expected the order in which merges are learnt."
                )
        # A special piece may have characters that stand for no byte; it is never shown.
        self.shown = [bytes(bytes_of[sign] for sign in piece if sign in bytes_of) for piece in self._pieces]
        letters, numbers, spaces = map(character_class, (settings["letters"], settings["numbers"], SPACES))
        symbols = f" ?[^{spaces}{letters}{numbers}]+"
        self._word = re.compile(
            f"'(?:{'|'.join(ENDINGS)})| ?[{letters}]+| ?[{numbers}]+|{symbols}|[{spaces}]+(?![^{spaces}])|[{spaces}]+"
        )

    @classmethod
    def make(
        cls,
        pieces: list[str],
        merges: list[tuple[str, str]],
        *,
        prefix_space: bool = False,
        special: tuple[int, ...] = (),
        around: Around = AROUND,
    ) -> "BytePairs":
        """The tokenizer of a vocabulary.

        Args:
            pieces: the vocabulary; the first four are PAD, UNK, BOS and EOS, and every byte has a piece.
            merges: the pairs of pieces that are merged, the first ones first.
            prefix_space: whether a text that does not begin with a space is read as if it did.
            special: ids of more pieces that stand for no text, such as "<mask>".
            around: what stands around every text.
        """
        places = {piece: token for token, piece in enumerate(pieces)}
        missing = next((pair for pair in merges if not {*pair, "".join(pair)} <= places.keys()), None)
        if missing:
            raise ValueError(f"The merge {missing} needs pieces that the vocabulary does not have.")
        return cls.write(
            before=list(around.before),
            after=list(around.after),
            special=sorted({*FIRST, *special}),
            prefix_space=prefix_space,
            letters=tables()["letters"],
            numbers=tables()["numbers"],
            merges=[places[piece] for pair in merges for piece in pair],
            pieces=list(pieces),
        )

    def words(self, text: str) -> list[list[int]]:
        """The token ids of each word of a text, the space before it included; together they are those of the text."""
        if self.settings["prefix_space"] and text and not text.startswith(" "):
            text = f" {text}"
        return [self._merge([self.byte_ids[byte] for byte in word.encode()]) for word in self._word.findall(text)]

    def encode_words(self, words: list[str]) -> list[list[int]]:
        """Token ids of each word by itself, as a tagger reads it: behind a space."""
        return self.encode([f" {word}" for word in words])

    def _merge(self, ids):
        size, ranks = len(ids), self.ranks
        following, previous = list(range(1, size + 1)), list(range(-1, size - 1))
        heap = [(ranks[pair], place) for place, pair in enumerate(zip(ids, ids[1:], strict=False)) if pair in ranks]
        heapq.heapify(heap)
        while heap:
            rank, place = heapq.heappop(heap)
            behind = following[place]
            if behind >= size or ranks.get((ids[place], ids[behind])) != rank:
                continue  # one of the two was merged with another piece
            ids[place], ids[behind], following[place] = self.results[rank], None, following[behind]
            if following[place] < size:
                previous[following[place]] = place
            for left in (previous[place], place):
                right = following[left] if left >= 0 else size
                if right < size and (ids[left], ids[right]) in ranks:
                    heapq.heappush(heap, (ranks[ids[left], ids[right]], left))
        return [token for token in ids if token is not None]

    def _join(self, ids):
        return b"".join(self._piece(token).encode() if token == UNK else self.shown[token] for token in ids).decode(
            errors="replace"
        )
