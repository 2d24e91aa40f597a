"""Which languages pairs of texts are in, by the names of their columns and files, or else by their script."""

import re
import unicodedata
from collections import Counter
from pathlib import Path

from zoo.data.formats.names import CODES, LANGUAGES, normal
from zoo.scores.texts import has_tokenizer

UNKNOWN = "und"  # ISO 639's code of a language that is not determined
LOOKED_AT = 1_000  # texts whose letters are counted
SCRIPTS = {"HIRAGANA": "ja", "KATAKANA": "ja", "HANGUL": "ko", "CJK": "zh"}  # that BLEU needs to know; ja before zh
THREE = CODES | dict(  # of languages whose words or sentences have rules of their own, and of Chinese ones
    zip(
        "ces cze dan dut est fin fre hrv hun ice isl lav nld nno nob nor pol slk slo slv srp swe tur yue".split(),
        "cs cs da nl et fi fr hr hu is is lv nl nn nb no pl sk sk sl sr sv tr zh".split(),
        strict=True,
    )
)
SIDES = ("source", "target")


def guess(files, columns, inputs, answers):
    """`{"source_language": code, "target_language": code}`; the target's is "und" where it is not found.

    Args:
        files: the paths of the training files.
        columns: `{role: name or number}` as they were detected; numbers count the files of parallel text.
        inputs, answers: the texts.
    """
    codes = {}
    for side, texts in zip(SIDES, (inputs, answers), strict=True):
        column = columns.get(side, "")
        numbered = isinstance(column, int) and len(files) == len(SIDES) and 1 <= column <= len(files)
        code = of_file(files[column - 1]) if numbered else of_name(str(column))
        codes[f"{side}_language"] = code or of_script(texts[:LOOKED_AT])
    codes["target_language"] = codes["target_language"] or UNKNOWN
    return {name: code for name, code in codes.items() if code}


def notes(target):
    """Notes on how BLEU scores the language that is written."""
    if target == UNKNOWN:
        return ["the language of the targets is not known; BLEU cuts words as in most languages"]
    if not has_tokenizer(target):
        return [f"BLEU of {target!r} needs a tokeniser of its own: pip install 'sacrebleu[{target}]'"]
    return []


def of_codes(source, target):
    """`{"source_language", "target_language"}` of codes such as de, deu or deu_Latn; {} where the target is no
    code, or BLEU cannot cut it into words. A source that is no code, such as a group of languages, becomes "und"."""
    matches = [re.fullmatch("([a-z]{2,3})(?:[_-][A-Z][A-Za-z]+)?", str(code)) for code in (source, target)]
    codes = [THREE.get(each[1], each[1]) if each else UNKNOWN for each in matches]
    if not matches[1] or not has_tokenizer(codes[1]):
        return {}
    return {f"{side}_language": code for side, code in zip(SIDES, codes, strict=True)}


def of_name(name):
    """The language that a column is named after; "" for none, or several."""
    words = [word for word in normal(name).split("_") if word in LANGUAGES]
    return CODES.get(words[0], words[0]) if len(words) == 1 else ""


def of_file(path):
    """The language that a file's ending names, such as train.de.gz; "" for none."""
    endings = [each.lstrip(".").lower() for each in Path(path).suffixes]
    named = [each for each in endings if each in LANGUAGES]
    return CODES.get(named[-1], named[-1]) if named else ""


def of_script(texts):
    """Japanese, Korean or Chinese by the letters; "" for other scripts, which many languages share."""
    counts = Counter(unicodedata.name(letter, "").split(" ")[0].split("-")[0] for text in texts for letter in text)
    common = {name: count for name, count in counts.items() if name in SCRIPTS}
    if 2 * sum(common.values()) < sum(count for name, count in counts.items() if name not in ("SPACE", "")):
        return ""
    return next((code for name, code in SCRIPTS.items() if 20 * common.get(name, 0) > sum(common.values())), "")
