"""Byte pair encoding over bytes (Radford et al., 2019, "Language Models are Unsupervised Multitask Learners")."""

import heapq
import re

from zoo.text.base import AROUND, UNK, Around
from zoo.text.characters import SPACES, character_class, tables
from zoo.text.json_tokenizer import FIRST, JsonTokenizer

ENDINGS = ("s", "t", "re", "ve", "m", "ll", "d")  # with an apostrophe before them they are words, as in "it's"


def byte_signs() -> list[str]:
    """The sign of each of the 256 bytes: itself where it is visible, else a character from U+0100 on."""
    visible = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    substitutes = iter(range(0x100, 0x200))
    return [chr(byte if byte in visible else next(substitutes)) for byte in range(256)]


class BytePairs(JsonTokenizer):
    """Splits a text into words, writes each as bytes, and merges pairs of pieces in the order of a list.

    Of all pairs of neighbours in a word the one that comes first in the list is merged, the leftmost of equal ones,
    until no pair is in the list. Every text has pieces, and `decode(encode(text)) == text`, but for the space that
    `prefix_space` puts before a text.

    Args:
        model_bytes: a file of `BytePairs.make`, with the pieces, the merges, and the tables of letters and numbers.

    Example:
        >>> from zoo.text.byte_pairs import BytePairs, byte_signs
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
