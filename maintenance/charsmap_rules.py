"""The normalisations that `zoo.text.tokenizer` holds, made from SentencePiece's rules and Unicode's.

`python -m maintenance.charsmap_rules` writes them again (with sentencepiece 0.2.3, whose tables they begin with). To
each rule is added what a reader cannot see and a model would have to learn:

- Default_Ignorable_Code_Point (Unicode 16, DerivedCoreProperties.txt) is removed: soft hyphens, zero width spaces, word
  joiners, byte order marks inside a text, marks of direction, variation selectors. Hangul fillers are letters and stay.
- The joiners U+200C and U+200D stay where they carry meaning (Unicode Standard Annex #31, section 2.3, and Technical
  Standard #51): behind a letter of a script that joins, such as Persian, behind a virama, as in Hindi, and the second
  one behind an emoji. Elsewhere, as in a German word, they are removed.
- The tags of the flags of England, Scotland and Wales stay, and Mongolian selectors behind a Mongolian letter.
"""

import lzma
import sys
import unicodedata

import sentencepiece

from zoo.text.tokenizer import CHARSMAPS, NORMALIZATIONS, charsmap_of

IGNORABLE = (
    "\u00ad \u034f \u061c \u17b4-\u17b5 \u180b-\u180f \u200b-\u200f \u202a-\u202e \u2060-\u206f \ufe00-\ufe0f \ufeff "
    "\ufff0-\ufff8 \U0001bca0-\U0001bca3 \U0001d173-\U0001d17a \U000e0000-\U000e0fff"
)
NON_JOINER, JOINER, EMOJI_STYLE = "\u200c", "\u200d", "\ufe0f"
MONGOLIAN = "\u180b\u180c\u180d\u180e\u180f"
JOINING = "ARABIC SYRIAC MANDAIC NKO MONGOLIAN PHAGS-PA MANICHAEAN PSALTER HANIFI ADLAM SOGDIAN CHORASMIAN".split()
BEFORE_A_VIRAMA = "\u09b0"  # the Bengali letter ra, whose joiner stands before the virama
EMOJI = ("\u2600-\u27bf", "\U0001f300-\U0001faff")
FLAGS = ("gbeng", "gbsct", "gbwls")
TAG_END = "\U000e007f"
# SentencePiece refuses a rule that changes nothing, so that what stays is written as another character of as many bytes
# and put back behind the trie: characters for private use, which no rule of its own writes.
_PRIVATE = "\ue00c\ue00d\ue80b\ue80c\ue80d\ue80e\ue80f\U000f007f"
STAND_INS = dict(zip(NON_JOINER + JOINER + MONGOLIAN + TAG_END, _PRIVATE, strict=True))


def rules(name):
    """`{text: what becomes of it}` of a normalisation, with `STAND_INS` for the marks that stay."""
    base = _base(name)
    images = base | dict.fromkeys(_each(IGNORABLE.split()), "")
    for before, kept in _contexts():
        read = base.get(before, before)
        images |= {before + mark: read + STAND_INS[mark] for mark in kept}
    images[EMOJI_STYLE + JOINER] = STAND_INS[JOINER]
    images |= {flag: flag[:-1] + STAND_INS[TAG_END] for flag in map(_flag, FLAGS)}
    return images


def _base(name):
    """SentencePiece's own rules; of "nfd" Python's table, each character by itself; of "identity" none."""
    if name == "identity":
        return {}
    if name == "nfd":
        apart = {one: unicodedata.normalize("NFD", one) for one in map(chr, range(sys.maxunicode + 1))}
        return {one: marks for one, marks in apart.items() if one != marks}
    return dict(sentencepiece.SentencePieceNormalizer(rule_name=name).Decompile())


def _contexts():
    """(a character, the marks that keep their meaning behind it)."""
    emoji, ignored = set(_each(EMOJI)), set(_each(IGNORABLE.split()))
    for one in map(chr, range(sys.maxunicode + 1)):
        if one in ignored:
            continue
        script = unicodedata.name(one, "").partition(" ")[0]
        joins = script in JOINING and unicodedata.category(one) in ("Lo", "Lm", "Mn") and not _is_presentation(one)
        if joins or unicodedata.combining(one) == 9 or one == BEFORE_A_VIRAMA:
            yield one, NON_JOINER + JOINER + (MONGOLIAN if script == "MONGOLIAN" else "")
        elif one in emoji and unicodedata.category(one) in ("So", "Sk"):
            yield one, JOINER


def _is_presentation(one):
    """Whether a character is the form of a letter in one place, which says already how it joins."""
    return unicodedata.decomposition(one).startswith("<")


def _flag(region):
    return "\U0001f3f4" + "".join(chr(0xE0000 + ord(letter)) for letter in region) + TAG_END


def _each(ranges):
    for one in ranges:
        yield from map(chr, range(ord(one[0]), ord(one[-1]) + 1))


def main():
    """Write the files."""
    for name in NORMALIZATIONS:
        made = sentencepiece.SentencePieceNormalizer(norm_map=sorted(rules(name).items()))
        written = _put_back(charsmap_of(made.serialized_normalizer_spec()))
        (CHARSMAPS / f"{name}.xz").write_bytes(lzma.compress(written, preset=9 | lzma.PRESET_EXTREME))


def _put_back(charsmap):
    """The table with the marks instead of their stand-ins: the size of the trie, the trie, and what its leaves name."""
    start = 4 + int.from_bytes(charsmap[:4], "little")
    written = charsmap[start:]
    for mark, stand_in in STAND_INS.items():
        written = written.replace(stand_in.encode(), mark.encode())
    return charsmap[:start] + written


if __name__ == "__main__":
    main()
