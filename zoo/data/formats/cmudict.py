"""Pronouncing dictionaries as CMU writes them: a word and its phones on a line, white space between all of them.

`word(2)` is another pronunciation of `word`; so is the word itself, written again. What begins with `;;;` or, behind
white space, with `#` is a comment. Numbers between the word and the phones, the probabilities of the Montreal Forced
Aligner, are no phones.

Weide (1998), "The Carnegie Mellon Pronouncing Dictionary", http://www.speech.cs.cmu.edu/cgi-bin/cmudict
"""

import re

from zoo.data.formats.base import Format, Layout, no_columns, quote
from zoo.data.formats.lines import TABLES
from zoo.data.formats.opening import first_lines, inner_suffix, lines_of

_LOOKED_AT = 200
_VARIANT = re.compile(r"(.+)\(\d+\)")
_VOWELS = "AA AE AH AO AW AY EH ER EY IH IY OW OY UH UW"
_CONSONANTS = "B CH D DH F G HH JH K L M N NG P R S SH T TH V W Y Z ZH"
_ARPABET = re.compile(f"(?:{'|'.join(_VOWELS.split())})[0-2]?|{'|'.join(_CONSONANTS.split())}")
_NUMBER = re.compile(r"\d+\.\d+")


class CmuDict(Format):
    """Words and their phones, which one space separates."""

    name, kinds = "cmudict", ("pairs",)

    def claims(self, files, request):
        """By the suffix .dict; or every line is a word, spaces, and phones of ARPAbet, but not phones alone."""
        if inner_suffix(files[0]) == ".dict":
            return True
        if inner_suffix(files[0]) in TABLES:
            return False
        lines = [text for _, text in first_lines(files[0], request, _LOOKED_AT)]
        entries = [entry for entry in map(_entry, lines) if entry]
        return (
            not any("\t" in text for text in lines)
            and any(phones for _, phones in entries)
            and all(_are_arpabet(phones) for _, phones in entries)
            and not all(_are_arpabet([word]) for word, _ in entries)
        )

    def layout(self, files, request):
        no_columns(files[0], self.name, request)
        return Layout({}, "a word and its phones on each line; word(2) is another pronunciation of word", {})

    def rows(self, files, request, layout, problems):
        for line, text in lines_of(files[0], request):
            entry = _entry(text)
            if entry is None:
                continue
            word, phones = entry
            if phones:
                yield line, (word, " ".join(phones))
            else:
                message = f"no phones behind the word in {quote(text)}; expected some. Add them, or delete the line."
                problems.lack("phones", message, files[0], line)


def _entry(text):
    """(the word, its phones) of a line; None of a comment and of a blank line."""
    if text.startswith(";;;"):
        return None
    word, *rest = text.split() or [""]
    phones = []
    for token in rest:
        if token.startswith("#"):
            break
        phones.append(token)
    while len(phones) > 1 and _NUMBER.fullmatch(phones[0]):
        del phones[0]
    if not word or word.startswith("#") and not (len(word) > 1 and phones and _are_arpabet(phones)):
        return None  # but "#SHARP-SIGN  SH AA1 R P S AY1 N" is an entry
    variant = _VARIANT.fullmatch(word)
    return variant[1] if variant else word, phones


def _are_arpabet(phones):
    return all(map(_ARPABET.fullmatch, phones))
