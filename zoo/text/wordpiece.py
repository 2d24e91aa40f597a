"""WordPiece (Schuster and Nakajima, 2012) as BERT has it: words are cut into the longest pieces from the left."""

import re

from zoo.text.base import BOS, EOS, UNK
from zoo.text.characters import character_class, contains, replacements, tables, union
from zoo.text.json_tokenizer import FIRST, JsonTokenizer

LONGEST = 100  # characters of a word; a longer one is unknown


class WordPiece(JsonTokenizer):
    """Normalises a text, splits it at white space and around punctuation, and cuts each word into pieces.

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
