"""The rules of ALBERT's tokenizer as one table of a SentencePiece model: what `tokenizers` makes of texts, by hand."""

from pathlib import Path

import pytest
import sentencepiece

from zoo.pretrained.families.albert import with_plain_letters
from zoo.text.charsmaps import charsmap_of, rules_of, with_charsmap

MODEL = (Path(__file__).with_name("data") / "albert" / "spiece.model").read_bytes()
OWN = {"„": '"', "⁄": "/", "\x07": "", "\t": " ", "q": "kw", "ab": "no"}  # the last one is of two characters
ACCENTED = "``On'' dit\u00a0: «\u00c9t\u00c9\u0301»\x07\u2003„q⁄ab”\tﬁ ½ İ ẞ Σ '''"


def model():
    """The tiny model with a table of its own."""
    made = sentencepiece.SentencePieceNormalizer(norm_map=sorted(OWN.items()))
    return with_charsmap(MODEL, "own", charsmap_of(made.serialized_normalizer_spec()))


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, '"on" dit : «ete» "kw/ab” fi 1/2 i ß σ "\''),
        ({"lower": False}, '"On" dit : «EtE» "kw/ab” fi 1/2 I ẞ Σ "\''),
        ({"accents": True}, '"on" dit : «\u00e9t\u00e9\u0301» "kw/ab” ﬁ ½ i\u0307 ß σ "\''),
    ],
)
def test_letters_are_read_as_there(settings, expected):
    made = with_plain_letters(model(), **settings)
    normalizer = sentencepiece.SentencePieceNormalizer(model_proto=made, add_dummy_prefix=False)
    assert normalizer.Normalize(ACCENTED).replace("▁", " ") == expected


def test_a_model_without_a_table_has_no_rules():
    assert rules_of(MODEL) == {} and rules_of(model()) == OWN
