"""How much of a text a model reads, and the errors and warnings about texts that it does not read as a whole.

It needs only the standard library. A TensorFlow graph has the same rules in `serving.export.gate`, word for word.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import accumulate, chain

from serving.lazy import later
from serving.runtime import doubt

words_of = later("zoo.text.words")

SPACES = "\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"  # the property White_Space
DEFAULT = 1024  # tokens, where the model does not say how many it reads
MOST = 1_000_000  # tokens, as many as a manifest may say
CHARACTERS = 16  # for each token: a text with more of them is not tokenised before it is refused or cut
OVERLONG = ("refuse", "truncate")
NOTHING = (), ()  # around a text that is read as it is
BLANK = re.compile(f"[{SPACES}]*")


@dataclass(frozen=True)
class Reading:
    """The part of a text that a model reads.

    Args:
        text: this part; "" if the text is refused.
        ids: its token ids, with those that stand around every text, such as the end of sentence.
        count: the number of characters of the whole text, if it was cut before it was tokenised.
        error: why there is no answer to the text, or None.
        warning: messages that only a part of the text is read, and that pieces of it are unknown; or None.
        places: `(start, end)` of each word, if the text is read by words.
        first: the index in `ids` of the first piece of each word.
        around: how many of `ids` stand around the text.
    """

    text: str = ""
    ids: tuple = ()
    count: int | None = None
    error: str | None = None
    warning: str | None = None
    places: tuple = ()
    first: tuple = ()
    around: int = 0


@dataclass(frozen=True)
class Bound:
    """The largest number of token ids of a text that reach a graph, including those that stand around it.

    Args:
        max_input: this number, at least 2.
        overlong: "refuse" gives no answer to a longer text, "truncate" reads a part of it.
        side: the part that is read, "first" or "last".
        unknown: the id of a piece that the tokenizer does not know.

    Raises:
        ValueError: `max_input` or `overlong` has another value.
    """

    max_input: int = DEFAULT
    overlong: str = "refuse"
    side: str = "first"
    unknown: int = 1

    def __post_init__(self):
        if type(self.max_input) is not int or not 2 <= self.max_input <= MOST:
            raise ValueError(
                f"max_input must be a whole number of tokens, at least 2 (one and the end) and at most {MOST}; "
                f"received {self.max_input!r}."
            )
        if self.overlong not in OVERLONG:
            raise ValueError(f"overlong must be one of {OVERLONG}; received {self.overlong!r}.")

    @property
    def max_characters(self):
        return CHARACTERS * self.max_input

    def overlong_error(self, count, unit):
        """The error of a text that is refused."""
        most = self.max_input if unit == "tokens" else self.max_characters
        return f"{count} {unit}, at most {most}"

    def cut_warning(self, count_read, count, unit):
        """The warning of a text of which only a part is read."""
        return f"only the {self.side} {count_read} tokens are read, of {count} {unit}"

    def read(self, texts, encode, around=NOTHING):
        """A `Reading` of each text.

        Args:
            texts: strings.
            encode: a function from a list of strings to a list with the token ids of each.
            around: the ids that are put before those of every text, and behind them.
        """
        clipped = [self.clip(text) for text in texts]
        return [
            self._warn_unknown(self.limit(part, ids, around))
            for part, ids in zip(clipped, encode([part.text for part in clipped]), strict=True)
        ]

    def read_words(self, texts, encode, around=NOTHING, *, rule="spaces", cut=None):
        """As `read`, but each word is encoded separately, and is read as a whole or not at all.

        Args:
            texts, encode, around: as of `read`.
            rule: what cuts a text into words, see `zoo.text.words`.
            cut: for each text the places of its words, or None where the rule finds them.
        """
        clipped = [self.clip(text) for text in texts]
        places = [
            words_of.find_words(part.text, rule)
            if own is None
            else [place for place in own if place[1] <= len(part.text)]
            for part, own in zip(clipped, cut or [None] * len(texts), strict=True)
        ]
        word_texts = [
            part.text[a:b].replace("\0", "\1")  # as TensorFlow's splitter has it, in which NUL ends a text
            for part, spans in zip(clipped, places, strict=True)
            for a, b in spans
        ]
        pieces = iter(encode(word_texts))
        return [
            self._warn_unknown(self._limit_words(part, spans, [next(pieces) for _ in spans], around))
            for part, spans in zip(clipped, places, strict=True)
        ]

    def _warn_unknown(self, reading):
        """The reading, with a warning if the tokenizer does not know some of its pieces."""
        count = reading.ids.count(self.unknown)
        if not count:
            return reading
        warning = doubt.unknown_warning(count, len(reading.ids) - reading.around)
        return replace(reading, warning=doubt.join(reading.warning, warning))

    def _limit_words(self, part, places, pieces, around):
        if part.error or not places:
            return part
        first, whole = [0, *accumulate(map(len, pieces))], list(chain.from_iterable(pieces))
        limited = self.limit(part, whole, around)
        if limited.error:
            return limited
        before, after = around
        num_words = sum(reached + limited.around <= self.max_input for reached in first[1:])
        ids = (*before, *whole[: first[num_words]], *after)
        count, unit = (len(whole) + limited.around, "tokens") if part.count is None else (part.count, "characters")
        return replace(
            limited,
            ids=ids,
            places=tuple(places[:num_words]),
            first=tuple(len(before) + place for place in first[:num_words]),
            warning=limited.warning and self.cut_warning(len(ids), count, unit),
        )

    def clip(self, text):
        """The part of a text that is tokenised. Characters far beyond the bound are cut off first, to save work."""
        error = unicode_error(text)
        if error:
            return Reading(error=error)
        if len(text) <= self.max_characters:
            return Reading(text)
        if self.side == "first" and is_blank(text):
            return Reading(text[: self.max_characters])
        if self.overlong == "refuse":
            return Reading(error=self.overlong_error(len(text), "characters"))
        part = text[: self.max_characters] if self.side == "first" else text[-self.max_characters :]
        return Reading(part, count=len(text))

    def limit(self, part, ids, around=NOTHING):
        """The `Reading` of a clipped text with the token ids `ids` and those around them, cut to the bound."""
        if part.error:
            return part
        before, after = around
        size = len(before) + len(after)
        count, room = len(ids) + size, max(0, self.max_input - size)
        counted, unit = (count, "tokens") if part.count is None else (part.count, "characters")
        if count > self.max_input:
            if self.overlong == "refuse":
                return Reading(error=self.overlong_error(counted, unit))
            ids = ids[:room] if self.side == "first" else ids[len(ids) - room :]
        ids = (*before, *ids, *after)
        if len(ids) == count and part.count is None:
            return Reading(part.text, ids, around=size)
        return Reading(part.text, ids, part.count, warning=self.cut_warning(len(ids), counted, unit), around=size)


def as_list(texts):
    """The texts as a list.

    Raises:
        TypeError: `texts` is a single string or nothing to iterate over, or holds a value that is not a string.
    """
    texts = list_of(texts)
    for position, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(
                f"Expected a list of strings; received {type(text).__name__} at position {position}: {text!r}."
            )
    return texts


def list_of(texts):
    """The items of whatever is iterable but a string, as a list.

    Raises:
        TypeError: it is a string, or not iterable.
    """
    if isinstance(texts, str):
        raise TypeError(f"Expected a list of strings; received one string. Write [{texts!r}].")
    if not isinstance(texts, Iterable):
        raise TypeError(f"Expected a list of strings; received {texts!r}.")
    return list(texts)


def texts_or_pairs(texts):
    """The texts as a list, in which a tuple of strings may stand for a text.

    Raises:
        TypeError: as `as_list`; or a tuple holds what is no string.
    """
    texts = list_of(texts)
    as_list(["" if isinstance(text, tuple) else text for text in texts])
    for both in texts:
        if isinstance(both, tuple):
            as_list(both)
    return texts


def join_words(texts):
    """(the texts as strings, of each the places of its words where it is the list of them, else None).

    Raises:
        TypeError: as `as_list`; or a list holds what is no string.
    """
    texts = list_of(texts)
    words = [as_list(text) if isinstance(text, list | tuple) else None for text in texts]
    texts = as_list([text if own is None else " ".join(own) for text, own in zip(texts, words, strict=True)])
    return texts, [None if own is None else words_of.places_of_joined(own) for own in words]


def is_answered(reading):
    """Whether the text is to be answered: it is neither blank nor refused."""
    return len(reading.ids) > reading.around and not is_blank(reading.text)


def is_blank(text):
    """Whether a text is empty or consists of white space."""
    return BLANK.fullmatch(text) is not None


def unicode_error(text):
    """Why a string cannot be encoded as UTF-8, or None if it can.

    `bytes.decode(errors="surrogateescape")` turns an invalid byte into a lone surrogate; the message names the byte.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        code = ord(text[error.start])
        what = f"the byte 0x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else f"the lone surrogate U+{code:04X}"
        return f"not UTF-8: {what} at character {error.start + 1}"
    return None
