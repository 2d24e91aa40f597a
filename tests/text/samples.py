"""Strings that break tokenizers, and a small corpus to learn a vocabulary from."""

CORPUS = [
    "a small corpus of short sentences",
    "ein kleiner Korpus kurzer Sätze",
    "three hundred and 365 days, 12 months",
    "三月三日は晴れでした。",
] * 3

NASTY = [
    "",
    "   ",
    "\t a\tb\n c\r",
    "👩‍👩‍👧 small 🎉",
    "漢字かな交じり文",
    "e\u0301 u\u0308 o\u0335",  # combining marks
    "a\u200bb\u200dc\u2060d",  # zero width
    "klei\u00adner Kor\u200cpus \ufeffkurzer S\u00e4\ufe0ftze",
    "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \u0915\u094d\u200d\u0937",  # joiners that carry meaning
    "short " * 3000,
    "x" * 20_000,
    "שלום small مرحبا",
    "<s> </s> <pad> <unk>",
    "\u2581\u2581 a",  # the piece that stands for a space
    "ﬁ ① ½ １２３ ＡＢＣ",
    "\ufeffa\u2028b\u00a0c",
    "a\x00b\x01",
    "\U0010ffff\ue000",
]
