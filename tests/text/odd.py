"""Texts on which tokenizers like to differ; those of `drawn` are the same every time."""

import random
import sys

CHOSEN = [
    *(
        "",
        " ",
        "  ",
        "\u3000",
        "\n",
        "a",
        " a",
        "  a",
        "a ",
        "\ta",
        "\u00a0a",
        "\r\n\r\n a",
        "\0a\0b",
        "a\ufeffb",
        "\ufffd",
    ),
    *("a\u200bb", "a\u200db", "so\u00adft", "\x1ca\x1f", "\x0ba\x0cb", "a\x85b", "\x7f", "\u2028a\u2029b", "\u180ea"),
    *("it's", "IT'S", "we'll've", "'s", " 's", "  's", "''s", "\n's", "x'd1'm", "'tis", "don't 'don't'", "'llama're"),
    *(
        "caf\u00e9 cafe\u0301",
        "na\u00efve \u00c5ngstr\u00f6m",
        "\u0130stanbul \u0131",
        "\u1e9e\u00df",
        "\u03a3\u03a3\u03c2",
    ),
    *(
        "\ufb01ne \u00bd \u00b2 \u2167 \u216b",
        "\u01c5 \u0149",
        "\u212a \u1fef \u037e",
        "\uf900\u8c48 \U0002f800",
        "e\u0316\u0301\u0300",
    ),
    *(
        "\u4f60\u597d\u4e16\u754c",
        "\u65e5\u672c\u8a9e\u306e\u30c6\u30ad\u30b9\u30c8",
        "\ud55c\uad6d\uc5b4 \u1112\u1161\u11ab",
        "\U0002b820\U0002b920\U0002a6e0",
    ),
    *(
        "\u0627\u0644\u0639\u0631\u0628\u064a\u0629 \u05e9\u05b8\u05dc\u05d5\u05b9\u05dd",
        "\u0939\u093f\u0928\u094d\u0926\u0940 \u0e44\u0e17\u0e22",
        "\u06f1\u06f2 \u0661",
    ),
    *(
        "\U0001f469\u200d\U0001f469\u200d\U0001f467",
        "\U0001f1e9\U0001f1ea \u2764\ufe0f \U0001f970 \U0001f9a4",
        "\U0001f3f4\U000e0067\U000e007f",
    ),
    *(
        "a.b,c!d?e",
        "C++ x_y @me #it 50% $5 <s> [x] {y} ~ ^ `",
        "\u2026\u2014\u201equote\u201c \u00a1\u00bf",
        "\u2e43 \u061d \u166d",
    ),
    *(
        "a" * 100,
        "a" * 101,
        "e\u0301" * 101,
        "\u00e9" * 101,
        "a" * 2000,
        "ab " * 300,
        "\u5b57" * 300,
        " " * 300,
        "!" * 300,
        "\u0301" * 300,
    ),
    *(
        "1a1a",
        "2026-11-25",
        "3.14e-10",
        "\u0378\u0379 \U000e0fff \ue000",
        "\U0001d16d\U0001d165\U0001d16e",
        "\u1c89 \u1c8a \ua7cb",
    ),
]


def drawn(count, seed=0):
    """Texts of characters of all kinds, of assigned and other code points, and of words with odd spaces."""
    chance, texts = random.Random(seed), []
    words = "the Zoo's I'll THEY'VE cafe\u0301 na\u00efve 1,234.5 x_y ##s".split()
    words += ["\u65e5\u672c", "\u0440\u0443\u0441", "\u03b5\u03bb", "\U0001f600"]
    spaces = [" ", "  ", "\n", "\t ", "\r\n", "\u00a0", "\u3000", "\x0b", "\x85", "\u200b", ""]
    while len(texts) < count:
        size, one = chance.randrange(1, 40), chance.randrange(3)
        if one == 0:
            texts.append("".join(chance.choice(words) + chance.choice(spaces) for _ in range(size)))
        elif one == 1:
            texts.append(
                "".join(chr(chance.choice((chance.randrange(0x400), chance.randrange(0x3000)))) for _ in range(size))
            )
        else:
            codes = (chance.randrange(sys.maxunicode) for _ in range(size))
            texts.append("".join(chr(code) for code in codes if not 0xD800 <= code < 0xE000))
    return texts
