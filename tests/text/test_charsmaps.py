"""Marks without a width are removed by every normalisation, in every form; joiners stay where they carry meaning."""

import random
import unicodedata

import pytest
import sentencepiece

from maintenance.charsmap_rules import STAND_INS, rules
from zoo.text import Tokenizer
from zoo.text.tokenizer import NORMALIZATIONS, Normalization

MARKS = {
    "soft hyphen": "\u00ad",
    "combining grapheme joiner": "\u034f",
    "Arabic letter mark": "\u061c",
    "Khmer inherent vowel": "\u17b4",
    "zero width space": "\u200b",
    "zero width non-joiner": "\u200c",
    "zero width joiner": "\u200d",
    "left-to-right mark": "\u200e",
    "right-to-left mark": "\u200f",
    "right-to-left override": "\u202e",
    "word joiner": "\u2060",
    "invisible times": "\u2062",
    "first strong isolate": "\u2068",
    "deprecated format": "\u206a",
    "text style": "\ufe0e",
    "emoji style": "\ufe0f",
    "byte order mark": "\ufeff",
    "tag letter": "\U000e0061",
    "ideographic variation": "\U000e0101",
    "Mongolian selector": "\u180b",
}
MEANT = {
    "Persian": "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
    "Persian with a mark": "\u0628\u0651\u200c\u0631",
    "Urdu": "\u06a9\u06be\u200d",
    "Hindi, joined": "\u0915\u094d\u200d\u0937",
    "Hindi, not joined": "\u0915\u094d\u200c\u0937",
    "Bengali ra": "\u09b0\u200d\u09cd\u09af",
    "Malayalam": "\u0d28\u0d4d\u200d",
    "Sinhala": "\u0dc1\u0dca\u200d\u0dbb\u0dd3",
    "family": "\U0001f469\u200d\U0001f469\u200d\U0001f467",
    "skin": "\U0001f9d1\U0001f3fd\u200d\U0001f680",
    "Wales": "\U0001f3f4\U000e0067\U000e0062\U000e0077\U000e006c\U000e0073\U000e007f",
    "Mongolian": "\u1828\u1820\u180e",
}
WORDS = [
    "ein",
    "M\u00e4dchen",
    "l\u00e4uft",
    "schl\u00e4ft",
    "Hund",
    "365",
    "\u4f60\u597d",
    "\u0441\u043b\u043e\u0432\u043e",
    "Caf\u00e9",
]


@pytest.fixture(scope="module", params=NORMALIZATIONS)
def own(request):
    return Normalization(request.param)


@pytest.mark.parametrize("mark", MARKS.values(), ids=MARKS)
def test_marks_without_a_width_are_removed(own, mark):
    for word in WORDS:
        clean = own.normalize(word)
        for place in range(len(word) + 1):
            assert own.normalize(word[:place] + mark + word[place:]) == clean
        assert own.normalize(mark.join(word) + mark * 3) == clean
    assert own.normalize(f"ein {mark} Hund") == own.normalize("ein  Hund")


@pytest.mark.parametrize("text", MEANT.values(), ids=MEANT)
def test_joiners_stay_where_they_carry_meaning(own, text):
    assert own.normalize(text) == (unicodedata.normalize("NFD", text) if own.name == "nfd" else text)


def test_an_emoji_is_the_same_with_and_without_its_style(own):
    assert (
        own.normalize("\u2764\ufe0f\u200d\U0001f525")
        == own.normalize("\u2764\u200d\U0001f525")
        == "\u2764\u200d\U0001f525"
    )


def test_nothing_else_changes(own):
    """SentencePiece's own rule of this name is the oracle, on texts without such marks; Python's tables of NFD."""
    removed = {chr(code) for code in range(0x10000) if unicodedata.category(chr(code)) == "Cf"}
    removed |= {"\u034f", "\u17b4", "\u17b5", *map(chr, range(0xFE00, 0xFE10)), *map(chr, range(0xFFF0, 0xFFF9))}
    draw = random.Random(7)
    blocks = [(0x20, 0x250), (0x370, 0x560), (0x5D0, 0x6FF), (0x900, 0xE00), (0x1100, 0x1200), (0x2000, 0x2700),
              (0x3040, 0x3400), (0x4E00, 0x4F00), (0xAC00, 0xAD00), (0xFB00, 0xFFF0), (0x1D400, 0x1D800)]  # fmt: skip
    texts = [
        "".join(one for one in (chr(draw.randrange(*draw.choice(blocks))) for _ in range(30)) if one not in removed)
        for _ in range(300)
    ]
    if own.name == "nfd":
        expected = ["".join(unicodedata.normalize("NFD", one) for one in text) for text in texts]
    elif own.name == "identity":
        expected = texts
    else:
        oracle = sentencepiece.SentencePieceNormalizer(
            rule_name=own.name, add_dummy_prefix=False, escape_whitespaces=False, remove_extra_whitespaces=False
        )
        expected = [oracle.Normalize(text) for text in texts]
    assert list(map(own.normalize, texts)) == expected


@pytest.mark.parametrize("kind", ["unigram", "bpe", "char", "word"])
@pytest.mark.parametrize("name", NORMALIZATIONS)
def test_a_vocabulary_reads_a_dirty_text_as_the_clean_one(name, kind):
    """Whether the texts that it is learnt from are clean or not."""
    clean = ["Ein M\u00e4dchen l\u00e4uft .", "Ein Hund schl\u00e4ft .", "Eine Frau liest ."] * 3
    dirty = [
        "Ein M\u00e4d\u00adchen l\u00e4uft .",
        "Ein Hu\u200bnd schl\u00e4ft\ufeff .",
        "Eine Fr\u2060au \u200bliest .",
    ] * 3
    learnt = Tokenizer.train(clean, 60, model_type=kind, normalization=name)
    assert learnt.encode(dirty) == learnt.encode(clean)
    assert Tokenizer.train(dirty, 60, model_type=kind, normalization=name).model_bytes == learnt.model_bytes
    assert learnt.encode_words(["\u00ad"]) == [[1]]  # a word has a token, whatever it is


def test_verbatim_texts_keep_every_mark():
    text = "M\u00e4d\u00adchen \u200bHu\u200cnd\ufeff\n"
    tokenizer = Tokenizer.train([text], 40, model_type="char", verbatim=True)
    assert tokenizer.decode(tokenizer.encode([text])) == [text]


@pytest.mark.slow
def test_the_files_are_what_the_rules_make(own):
    """A later Unicode than that of the files may add letters, and takes none away."""
    back = {stand_in: mark for mark, stand_in in STAND_INS.items()}
    expected = {read: "".join(back.get(one, one) for one in made) for read, made in rules(own.name).items()}
    found = dict(own._normalizer.Decompile())
    assert found.items() <= expected.items()
    assert len(found) > 0.98 * len(expected)
