"""SentencePiece models that read texts behind rules of their own, as ALBERT's: letters in lower case, without accents.

There the rules run one after the other, and last the table inside the model; here they become one such table.
"""

import unicodedata

import sentencepiece

from zoo.text.tokenizer import charsmap_of, rules_of, with_charsmap

QUOTES = {"``": '"', "''": '"'}
RULES = [  # the same in a tokenizer.json
    *({"type": "Replace", "pattern": {"String": quotes}, "content": one} for quotes, one in QUOTES.items()),
    *({"type": each} for each in ("NFKD", "StripAccents", "Lowercase")),
]
# Elsewhere are ideographs and private characters, which have no marks and no case, and surrogates.
CHANGING = range(0xD800), range(0xE000, 0x20000), range(0x2F800, 0x2FA20), range(0xE0000, 0xE0200)
NO_SPACES = "\x1c\x1d\x1e\x1f"  # which Python counts among them


def with_plain_letters(model, lower=True, accents=False):
    """The model with a table that does what `AlbertTokenizer` does before it reads a text.

    A character is decomposed (NFKD), loses its marks, becomes lower case, and then what the model's own table makes of
    it, character by character, as the library `tokenizers` applies it. All kinds of white space become spaces.

    Args:
        model: serialised.
        lower: whether letters become lower case.
        accents: whether marks stay, and characters are not decomposed.
    """
    table, rules = rules_of(model), dict(QUOTES)
    characters = (chr(each) for places in CHANGING for each in places)
    for character in {*characters, *(key for key in table if len(key) == 1)}:
        text = character
        if not accents:
            text = "".join(each for each in unicodedata.normalize("NFKD", text) if unicodedata.category(each)[0] != "M")
        text = "".join(table.get(each, each) for each in (text.lower() if lower else text))
        text = "".join(" " if each.isspace() and each not in NO_SPACES else each for each in text)
        if text != character:
            rules[character] = text
    normalizer = sentencepiece.SentencePieceNormalizer(norm_map=sorted(rules.items()))
    return with_charsmap(model, "plain_letters", charsmap_of(normalizer.serialized_normalizer_spec()))
