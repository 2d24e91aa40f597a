"""The tables of `zoo.text.characters`, asked of Hugging Face's `tokenizers`, one code point at a time.

`pip install tokenizers==0.23.3`, then `python -m maintenance.character_rules` writes them again. They are asked for and
not taken from Unicode, because the library mixes versions: what BERT removes and what is punctuation is Unicode 8's,
letters and numbers are those of a newer one, and of one block of ideographs the first characters are missing.
"""

import json
import lzma

import tokenizers

from zoo.text.characters import FILE, bounds_of, contains

EVERY = [chr(code) for code in range(0x110000) if not 0xD800 <= code <= 0xDFFF]
HANGUL = [0xAC00, 0xD7A4]  # syllables, which are taken apart by a formula


def tables():
    """The tables by name: bounds of ranges, and what becomes of a character."""

    def bert(**chosen):
        off = dict.fromkeys(("clean_text", "handle_chinese_chars", "strip_accents", "lowercase"), False)
        return tokenizers.normalizers.BertNormalizer(**(off | chosen)).normalize_str

    words, bytes_ = (
        tokenizers.pre_tokenizers.BertPreTokenizer(),
        tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False),
    )
    cleaned = {one: bert(clean_text=True)(one) for one in EVERY}
    lower, bare = ({one: of(one) for one in EVERY} for of in (bert(lowercase=True), bert(strip_accents=True)))

    def all_with(count, pattern, cut):
        return [ord(one) for one in EVERY if len(cut.pre_tokenize_str(pattern.format(one))) == count]

    def changed(images):
        return {
            one: other for one, other in images.items() if other not in (one, "") and not contains(HANGUL, ord(one))
        }

    return {
        "removed": bounds_of(ord(one) for one, other in cleaned.items() if not other),
        "marks": bounds_of(ord(one) for one, other in bare.items() if not other),
        "punctuation": bounds_of(all_with(3, "a{}b", words)),
        "ideographs": bounds_of(ord(one) for one in EVERY if bert(handle_chinese_chars=True)(one) != one),
        "letters": bounds_of(all_with(1, "a{}", bytes_)),
        "numbers": bounds_of(all_with(1, "1{}", bytes_)),
        "lower": changed(lower),
        "bare": changed(bare),
    }


if __name__ == "__main__":
    written = json.dumps(tables(), ensure_ascii=False, separators=(",", ":")).encode()
    FILE.write_bytes(lzma.compress(written, preset=9 | lzma.PRESET_EXTREME))
