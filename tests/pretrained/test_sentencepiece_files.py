"""A tokenizer.json alone gives the tokenizer of its SentencePiece model; the rules of ALBERT become a table of one."""

import json
import shutil
from pathlib import Path

import pytest
import sentencepiece

from tests.text.odd import CHOSEN
from zoo.core.storage import write_json
from zoo.pretrained.families.albert import with_plain_letters
from zoo.pretrained.opening import open_source
from zoo.pretrained.sentencepiece_files import read_sentencepiece
from zoo.pretrained.source import open_address
from zoo.text.tokenizer import charsmap_of, rules_of, with_charsmap

DATA, FILE = Path(__file__).with_name("data"), "sentencepiece.bpe.model"


@pytest.mark.parametrize("name", ["nllb", "xlm_roberta", "camembert"])
def test_it_says_what_its_model_says(name, tmp_path):
    """NLLB's are byte pairs with merges, the others have scores."""
    found = []
    for folder in (DATA / name, shutil.copytree(DATA / name, tmp_path / name)):
        if folder.parent == tmp_path:
            (folder / FILE).unlink()
        with open_address(folder) as source:
            found.append(open_source(source))
    whole, alone = (made.tokenizers[0] for made in found)
    texts = CHOSEN + json.loads((DATA / name / "said.json").read_text(encoding="utf-8"))["texts"]
    assert whole.encode(texts) == alone.encode(texts) and whole.around == alone.around
    assert found[0].network.ids.tolist() == found[1].network.ids.tolist()


def changed(part, **values):
    return lambda whole: (whole[part] if part else whole).update(values)


MERGES = {
    "lost": lambda whole: whole["model"]["merges"].pop(),
    "apart": lambda whole: whole["model"]["merges"].append(whole["model"]["merges"][0]),
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (changed("", normalizer={"type": "Lowercase"}), "normalises texts by Lowercase"),
        (changed("", pre_tokenizer={"type": "ByteLevel"}), "asks for type = 'ByteLevel'; expected 'Metaspace'"),
        (changed("", pre_tokenizer=None), "does not begin words with ▁"),
        (changed("model", byte_fallback=True), "asks for byte_fallback = True"),
        (changed("model", fuse_unk=False), "asks for fuse_unk = False"),
        (changed("model", vocab=[]), "is no tokenizer of SentencePiece's kind"),
        (changed("", added_tokens=[{"id": 9, "content": "zoo", "special": False}]), "looks for the piece 'zoo'"),
        (changed("", added_tokens=[{"id": 9, "content": "zoo", "special": True}]), "'zoo' for the id 9"),
        (MERGES["lost"], "does not merge"),
        (MERGES["apart"], "stand apart, so they are not SentencePiece's"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_sentencepiece_does_not_do_is_refused_by_name(change, message, tmp_path):
    whole = json.loads((DATA / "nllb" / "tokenizer.json").read_text(encoding="utf-8"))
    change(whole)
    write_json(tmp_path / "tokenizer.json", whole)
    with open_address(tmp_path) as source, pytest.raises(ValueError, match=message):
        read_sentencepiece(source, FILE)


def test_a_folder_with_neither_is_refused(tmp_path):
    with open_address(tmp_path) as source, pytest.raises(ValueError, match=f"lacks {FILE}, or a tokenizer.json"):
        read_sentencepiece(source, FILE)


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
