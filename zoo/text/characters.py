"""The classes of characters of the tokenizers of BERT and GPT-2: tables that `maintenance/character_rules.py` wrote.

Ranges are bounds: ascending code points at which a range begins or, exclusive, ends. They go into the file of each
tokenizer that needs them, so that every program cuts texts alike, whichever version of Unicode it has.
"""

import functools
import json
import lzma
import unicodedata
from bisect import bisect_right
from pathlib import Path

FILE = Path(__file__).with_name("characters.json.xz")
SPACES = [9, 14, 32, 33, 0x85, 0x86, 0xA0, 0xA1, 0x1680, 0x1681, 0x2000, 0x200B, 0x2028, 0x202A, 0x202F, 0x2030]
SPACES += [0x205F, 0x2060, 0x3000, 0x3001]  # the property White_Space


@functools.cache
def tables():
    """The tables by name: bounds of ranges, and replacements of characters."""
    return json.loads(lzma.decompress(FILE.read_bytes()))


def bounds_of(codes):
    """The bounds of the ranges that hold these code points, given in ascending order."""
    bounds = []
    for code in codes:
        if bounds and bounds[-1] == code:
            bounds[-1] += 1
        else:
            bounds += [code, code + 1]
    return bounds


def union(*sets):
    """The bounds of the union of several sets."""
    return bounds_of(sorted({code for bounds in sets for code in _codes(bounds)}))


def contains(bounds, code):
    """Whether a code point is in the ranges."""
    return bisect_right(bounds, code) % 2 == 1


def character_class(*sets):
    """The inside of a character class of a regular expression, with what is in the ranges."""
    pairs = (pair for bounds in sets for pair in zip(bounds[::2], bounds[1::2], strict=True))
    return "".join(f"\\U{first:08x}-\\U{end - 1:08x}" for first, end in pairs)


def replacements(*, lowercase, strip_accents, clean):
    """`{character: its replacement}` of BERT's normalisation; characters to remove are in the table "removed"."""
    table = tables()
    spaces = [code for code in _codes(SPACES) if not (clean and contains(table["removed"], code))]
    result = {chr(code): " " for code in spaces if code != 32}
    if strip_accents:
        syllables = (chr(code) for code in range(0xAC00, 0xD7A4))
        unaccented = table["bare"] | {one: unicodedata.normalize("NFD", one) for one in syllables}
        result = dict.fromkeys(map(chr, _codes(table["marks"])), "") | unaccented | result
    if lowercase:
        lowered = table["lower"]
        result = {one: "".join(lowered.get(each, each) for each in other) for one, other in result.items()}
        result = lowered | result
    return result


def _codes(bounds):
    for first, end in zip(bounds[::2], bounds[1::2], strict=True):
        yield from range(first, end)
