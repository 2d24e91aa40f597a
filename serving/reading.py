"""How much of a text is read, and what is said of a text that is not read whole; needs the standard library alone.

The same rule holds in Python here and in a TensorFlow graph in `serving.gate`, word for word.
"""

import re
from dataclasses import dataclass, replace
from itertools import accumulate

from serving.words import SPACES, without_nul, words

DEFAULT = 1024  # tokens, where neither the model nor the artefact says how many it reads
CHARACTERS = 16  # for each token: a text with more of them is not tokenised before it is refused or cut
OVERLONG = ("refuse", "truncate")
BLANK = re.compile(f"[{SPACES}]*")


@dataclass(frozen=True)
class Reading:
    """What is read of a text.

    Args:
        text: the part that is looked at; "" if the text is refused.
        ids: its token ids, what ends a source included.
        count: how many characters the text has, if it was cut before it was tokenised.
        error: why the text is not answered, or None.
        warning: that only a part of it is read, or None.
        places: `(start, end)` of the words, where they are what is read.
        first: the place among `ids` of each word's first piece.
    """

    text: str = ""
    ids: tuple = ()
    count: int | None = None
    error: str | None = None
    warning: str | None = None
    places: tuple = ()
    first: tuple = ()


@dataclass(frozen=True)
class Bound:
    """At most `max_input` token ids of a text reach a graph, the end of sentence counted where there is one.

    Args:
        max_input: the bound, at least 2.
        overlong: "refuse" leaves a longer text unanswered, "truncate" reads a part of it.
        side: which part: "first" or "last".

    Raises:
        ValueError: a number or a word that is none of these.
    """

    max_input: int = DEFAULT
    overlong: str = "refuse"
    side: str = "first"

    def __post_init__(self):
        if type(self.max_input) is not int or self.max_input < 2:
            raise ValueError(
                f"max_input must be a whole number of tokens, at least 2 (one and the end); received "
                f"{self.max_input!r}."
            )
        if self.overlong not in OVERLONG:
            raise ValueError(f"overlong must be one of {OVERLONG}; received {self.overlong!r}.")

    @property
    def max_characters(self):
        return CHARACTERS * self.max_input

    def too_many(self, count, unit):
        """Why a text is refused."""
        most = self.max_input if unit == "tokens" else self.max_characters
        return f"{count} {unit}, at most {most}"

    def only(self, kept, count, unit):
        """What is said of a text that is read in part."""
        return f"only the {self.side} {kept} tokens are read, of {count} {unit}"

    def read(self, texts, encode, end=()):
        """A `Reading` of each text.

        Args:
            texts: strings.
            encode: of a list of strings, gives the token ids of each.
            end: ids that follow those of every text.
        """
        clipped = [self.clip(text) for text in texts]
        return [
            self.limit(part, [*ids, *end], end)
            for part, ids in zip(clipped, encode([part.text for part in clipped]), strict=True)
        ]

    def read_words(self, texts, encode, end):
        """The same of texts whose words are encoded by themselves; a word is read whole or not at all."""
        clipped = [self.clip(text) for text in texts]
        places = [words(part.text) for part in clipped]
        spoken = [without_nul(part.text[a:b]) for part, found in zip(clipped, places, strict=True) for a, b in found]
        pieces = iter(encode(spoken))
        return [
            self._limit_words(part, found, [next(pieces) for _ in found], end)
            for part, found in zip(clipped, places, strict=True)
        ]

    def _limit_words(self, part, places, pieces, end):
        if part.error or not places:
            return part
        first = [0, *accumulate(map(len, pieces))]
        whole = Reading(part.text, (*sum(pieces, []), *end), part.count)
        limited = self.limit(whole, whole.ids, end)
        if limited.error:
            return limited
        kept = sum(reached + len(end) <= self.max_input for reached in first[1:])
        ids = (*whole.ids[: first[kept]], *end)
        found, unit = (len(whole.ids), "tokens") if part.count is None else (part.count, "characters")
        warning = limited.warning and self.only(len(ids), found, unit)
        return replace(limited, ids=ids, places=tuple(places[:kept]), first=tuple(first[:kept]), warning=warning)

    def clip(self, text):
        """The part of a text that is worth tokenising."""
        wrong = not_unicode(text)
        if wrong:
            return Reading(error=wrong)
        if len(text) <= self.max_characters:
            return Reading(text)
        if self.side == "first" and is_blank(text):
            return Reading(text[: self.max_characters])
        if self.overlong == "refuse":
            return Reading(error=self.too_many(len(text), "characters"))
        part = text[: self.max_characters] if self.side == "first" else text[-self.max_characters :]
        return Reading(part, count=len(text))

    def limit(self, part, ids, end=()):
        """The ids of a clipped text that are read."""
        if part.error:
            return part
        found, unit = (len(ids), "tokens") if part.count is None else (part.count, "characters")
        if len(ids) > self.max_input:
            if self.overlong == "refuse":
                return Reading(error=self.too_many(found, unit))
            kept = self.max_input - len(end)
            whole = ids[: len(ids) - len(end)]
            ids = [*(whole[:kept] if self.side == "first" else whole[-kept:]), *end]
        elif part.count is None:
            return Reading(part.text, tuple(ids))
        return Reading(part.text, tuple(ids), part.count, warning=self.only(len(ids), found, unit))


def speaks(reading):
    """Whether there is something to answer: no blank, and nothing that is refused."""
    return len(reading.ids) > 1 and not is_blank(reading.text)


def is_blank(text):
    """Whether a text holds nothing but white space."""
    return BLANK.fullmatch(text) is not None


def not_unicode(text):
    """Why a string has no UTF-8 form, or None.

    A byte that was no UTF-8 is a lone surrogate after `bytes.decode(errors="surrogateescape")`, and named as a byte.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        code = ord(text[error.start])
        what = f"the byte 0x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else f"the lone surrogate U+{code:04X}"
        return f"not UTF-8: {what} at character {error.start + 1}"
    return None
