"""Networks for many languages: which one is read and which is written, and what a tokenizer says of texts."""

import json
import shutil

import numpy as np
import pytest
import tensorflow as tf

from serving.export.graph_tokenizers import GraphTokenizer
from serving.runtime import sentences
from tests.pretrained.tiny import DATA, changed, opened
from tests.text.odd import CHOSEN
from tools import cli
from zoo import pretrained
from zoo.pretrained import languages
from zoo.pretrained.source import open_address
from zoo.recipes.languages import THREE
from zoo.scores import texts
from zoo.text import UNK
from zoo.text.base import BOS, EOS
from zoo.training import named_weights

NAMES = ("mbart", "m2m100", "nllb")


@pytest.fixture
def folder(tmp_path):
    """A function that gives a copy of a network, with other settings of its tokenizer or of its search."""

    def made(name, tokenizer=(), search=()):
        changed(tmp_path, name, "tokenizer_config.json", **dict(tokenizer))
        return changed(tmp_path, name, "generation_config.json", **dict(search))

    return made


def there(made, side):
    """What stands around a text, in the ids of the source."""
    return tuple(made.network.ids[list(ids)].tolist() for ids in made.tokenizers[side].around)


def test_a_pair_is_chosen_at_the_import(tmp_path, capsys):
    chosen = ["--source-language", "eng_Latn", "--target-language", "zho_Hans"]
    assert cli.main(["import", str(DATA / "nllb"), "--out", str(tmp_path / "run"), *chosen]) == 0
    recipe = (tmp_path / "run" / "recipe.toml").read_text()
    assert 'source_language = "en"' in recipe and 'target_language = "zh"' in recipe
    assert "It reads eng_Latn and writes zho_Hans.\nImported from " in (tmp_path / "run" / "card.md").read_text()
    _, ids, tokenizers = pretrained.load(
        DATA / "nllb", tokenizers=True, source_language="eng_Latn", target_language="zho_Hans"
    )
    codes = json.loads((DATA / "nllb" / "tokenizer_config.json").read_text())["extra_special_tokens"]
    added = {
        each["content"]: each["id"] for each in json.loads((DATA / "nllb/tokenizer.json").read_text())["added_tokens"]
    }
    assert "zho_Hans" in codes
    assert [ids[each.before[0]] for each in tokenizers] == [added["eng_Latn"], added["zho_Hans"]]


def test_every_language_with_rules_of_its_own_is_known_by_three_letters():
    ruled = {*sentences.KNOWN, *sentences.ORDINALS, *texts.UNSPACED, *texts.TOKENIZERS}
    assert ruled <= {*THREE.values()} and {len(each) for each in THREE.values()} == {2}


@pytest.mark.slow(but=3)
@pytest.mark.parametrize(
    ("stated", "languages"),
    [
        (("en", "zh"), ("en", "zh")),
        (("eng", "deu"), ("en", "de")),
        (("nld", "cmn_Hans"), ("nl", "zh")),
        (("roa", "en"), ("roa", "en")),  # ISO 639-5's code of a group is a code
        (("en_el_es_fi", "fi"), ("und", "fi")),
        ((None, "ceb"), ("und", "ceb")),
        (("en", "NORTH_EU"), ("", "")),
        (("en", None), ("", "")),
        ((7, ["de"]), ("", "")),
    ],
    ids=str,
)
def test_opus_mt_states_its_languages(stated, languages, tmp_path):
    """BLEU cuts Chinese by its characters, and `seqzoo run` a text into sentences, where a recipe names the pair."""
    pair = dict(zip(("source_lang", "target_lang"), stated, strict=True))
    made = opened(changed(tmp_path, "marian", "tokenizer_config.json", **pair))
    assert made.recipe.languages == languages and made.network.languages == ()


def test_mbart_reads_a_language_behind_and_starts_with_the_other(folder):
    made = opened(folder("mbart"), "en_XX", "ro_RO")
    names = made.tokenizers[0].pieces
    assert made.recipe.search.forced_tokens == []
    assert made.network.ids[BOS] == made.network.ids[names.index("ro_RO")]
    assert there(made, 0) == ([], [2, made.network.ids[names.index("en_XX")]]) and there(made, 1) == ([], [2])


def test_nllb_of_old_reads_its_language_behind(folder):
    new, old = opened(DATA / "nllb"), opened(folder("nllb", {"legacy_behaviour": True}))
    assert there(old, 0) == ([], there(new, 0)[1] + there(new, 0)[0])
    assert there(old, 1) == there(new, 1) and old.recipe.search.forced_tokens == new.recipe.search.forced_tokens


def test_mbart50_has_27_languages_more(folder):
    """Its rows are those of mBART, and more behind them."""
    path = folder("mbart", {"tokenizer_class": "MBart50TokenizerFast"})
    with open_address(path, ("de_DE", "sl_SI")) as source:
        size = source.config.whole("vocab_size")
        words = languages.read_vocabulary(source, size + 27, 2)
    reads, writes = words["tokenizers"]()
    assert words["ids"][[reads.before[0], writes.before[0]]].tolist() == [size - 26 + 2, size - 1 + 26]
    assert words["generation"] == {"forced_bos_token_id": size + 25} and reads.after == (EOS,)


@pytest.mark.slow(but="m2m100")
@pytest.mark.parametrize("name", NAMES)
def test_what_is_not_stated_must_be_chosen(name, folder):
    path = folder(name, {"src_lang": None}, {"forced_bos_token_id": None})
    message = (
        "does not say which is its source. Choose" if name == "mbart" else "which is its source and target. Choose"
    )
    with pytest.raises(ValueError, match=message) as error:
        opened(path)
    assert "--target-language" in str(error.value) and " from " in str(error.value)
    pretrained.load(path)  # the network needs none


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("name", NAMES)
def test_a_language_that_is_not_known_is_refused_with_the_list(name):
    with pytest.raises(ValueError, match="knows no language 'klingon'; it knows .*(de_DE|de|deu_Latn), "):
        opened(DATA / name, "klingon", "")


def test_a_network_of_one_pair_has_no_languages_to_choose():
    with pytest.raises(ValueError, match="/marian: .* marian has no languages to choose from; .*'de'.* Leave"):
        pretrained.load(DATA / "marian", target_language="de")


@pytest.mark.slow(but="bart")
@pytest.mark.parametrize("name", ["bart", *NAMES])
def test_a_network_is_loaded_without_its_tokenizer(name, tmp_path):
    for file in ("config.json", "model.safetensors", "generation_config.json"):
        shutil.copy(DATA / name / file, tmp_path)
    model, ids = pretrained.load(tmp_path)
    assert model.count_params() and set(ids) == set(range(ids.max() + 1))
    with pytest.raises(ValueError, match="no tokenizer"):
        pretrained.load(tmp_path, tokenizers=True)


@pytest.mark.parametrize(
    ("name", "tokenizer", "message"),
    [
        ("nllb", {"tokenizer_class": "LlamaTokenizer"}, "the tokenizer is a LlamaTokenizer; known here are MBart"),
        ("m2m100", {"language_codes": "all"}, "language_codes is 'all'; expected m2m100 or wmt21"),
        ("mbart", {"added_tokens_decoder": {"9": {"content": "x", "special": True}}}, "the piece 9 is 'x'; sentencep"),
        ("mbart", {"added_tokens_decoder": {"95": {"content": "x", "special": False}}}, "looks for the piece 'x' in"),
        ("mbart", {"added_tokens_decoder": 7}, "no tokenizer that is known here: .*'int' object"),
    ],
    ids=str,
)
def test_other_tokenizers_are_refused_in_words(name, tokenizer, message, folder):
    with pytest.raises(ValueError, match=message):
        opened(folder(name, tokenizer))


def test_a_piece_that_the_vocabulary_lacks_is_unknown_and_never_written():
    """M2M100 looks pieces up in a list of its own; here "at" is not in it."""
    made = opened(DATA / "m2m100")
    (token,) = [token for token, piece in enumerate(made.tokenizers[0].pieces) if piece == "at"]
    assert made.network.ids[token] == made.network.ids[UNK] and token in made.network.barred
    assert token in [each for row in made.tokenizers[0].encode(["that cat sat"]) for each in row]
    bias = np.asarray(named_weights(made.model)["target_embedding/output_bias"])
    assert np.flatnonzero(bias).tolist() == sorted(made.network.barred) == [BOS, token]


@pytest.mark.slow(but="nllb")
@pytest.mark.parametrize("name", ["bart", *NAMES, "camembert"])
def test_names_of_special_pieces_inside_a_text_stay_text_and_graphs_say_the_same(name):
    made = opened(DATA / name)
    texts = [*CHOSEN, "</s> <s> <mask> de_DE deu_Latn __de__"]
    for tokenizer in made.tokenizers:
        control = {token for token in range(tokenizer.vocab_size) if tokenizer.decode([[token]]) == [""]}
        encoded = tokenizer.encode(texts)
        ids, lengths = GraphTokenizer(tokenizer.model_bytes).encode(tf.constant(texts))
        found = [row[:size].tolist() for row, size in zip(ids.numpy(), lengths.numpy(), strict=True)]
        assert found == [tokenizer.around.put(each) for each in encoded]
        assert not {*tokenizer.before} - control and not {BOS, EOS} & {each for row in encoded for each in row}
