"""Every family against its own framework: the answers that `make.py` kept, so that no test needs that framework."""

import json
import shutil

import numpy as np
import pytest

from tests.pretrained.tiny import DATA, NEAR, changed, difference, has_its_ids, opened, said
from zoo.data import pad
from zoo.pretrained.gate import measure, read_answers
from zoo.pretrained.opening import open_source
from zoo.pretrained.source import open_address
from zoo.tasks.parts.answering import Searcher
from zoo.text.base import BOS, EOS, PAD
from zoo.text.tokenizer_files import read_byte_pairs

NAMES = sorted(each.name for each in DATA.iterdir() if (each / "answers.npz").is_file())


@pytest.mark.parametrize("name", NAMES)
def test_it_answers_as_in_its_framework(name):
    """And every tensor tells: no weight is constant, so one that went to the wrong place would be noticed."""
    with open_address(DATA / name) as source:
        made = open_source(source, tokenizers=False)
        what, largest = measure(made.model, made.network, read_answers(source)[1])
    assert largest < NEAR, what
    assert not [each.path for each in made.model.weights if each.shape[0] > 1 and np.ptp(np.asarray(each)) == 0]


def test_queries_of_gpt2_may_shrink_with_depth(tmp_path):
    """Its `scale_attn_by_inverse_layer_idx` divides the scores of layer n by n: ours has smaller queries instead."""
    folder = changed(tmp_path, "gpt2", scale_attn_by_inverse_layer_idx=True)
    shutil.move(folder / "narrowed.npz", folder / "answers.npz")
    assert difference(folder) < NEAR
    assert difference(changed(tmp_path, "gpt2", scale_attn_by_inverse_layer_idx=None)) > 1000 * NEAR


@pytest.mark.parametrize(
    ("name", "file", "changes"),
    [
        ("t5", "config.json", {"dense_act_fn": "gelu"}),
        ("mt5", "config.json", {"dense_act_fn": "relu"}),
        ("t5", "config.json", {"num_hidden_layers": 1}),
        ("t5", "config.json", {"head_dim": 3}),
        ("t5", "config.json", {"is_encoder_decoder": False}),
        ("bart", "config.json", {"decoder_attention_heads": None}),
        ("m2m100", "config.json", {"pad_token_id": 0}),
        ("roberta", "config.json", {"pad_token_id": 0}),
        ("reformer", "config.json", {"local_num_chunks_before": 2}),
        ("bart", "generation_config.json", {"decoder_start_token_id": None, "bos_token_id": 0}),
        ("albert", "tokenizer_config.json", {"add_prefix_space": False}),
        ("albert", "tokenizer_config.json", {"add_bos_token": True}),
        ("xlm_roberta", "tokenizer_config.json", {"add_prefix_space": False}),
        ("xlm_roberta", "tokenizer_config.json", {"unk_token": "<pad>"}),
        ("reformer", "tokenizer_config.json", {"add_eos_token": True}),
        ("reformer", "tokenizer_config.json", {"unk_token": "a"}),
        ("t5", "tokenizer_config.json", {"eos_token": "<pad>"}),
        ("t5", "tokenizer_config.json", {"tokenizer_class": "ByT5Tokenizer"}),
        ("marian", "tokenizer_config.json", {"unk_token": "<pad>"}),
        ("roberta", "tokenizer_config.json", {"cls_token": "a"}),
        ("bart", "tokenizer_config.json", {"sep_token": "a"}),
        ("bert", "config.json", {"tokenizer_class": "BertJapaneseTokenizer"}),
        ("distilbert", "tokenizer_config.json", {"tokenizer_class": "DistilBertJapaneseTokenizer"}),
    ],
)
def test_what_transformers_would_compute_otherwise_is_refused(name, file, changes, tmp_path):
    """Each changed its answers. None is a key that is missing, where transformers takes another value."""
    folder = changed(tmp_path, name, file, **changes)
    for each in {"tokenizer.json", "tokenizer_config.json"} - {file} if "tokenizer_class" in changes else ():
        (folder / each).unlink(missing_ok=True)  # where they are there, they count
    with pytest.raises(ValueError, match=next(iter(changes))):
        opened(folder)


@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("bart", "BartForSequenceClassification"),
        ("bart", "BartForCausalLM"),
        ("marian", "MarianForCausalLM"),
        ("t5", "T5EncoderModel"),
        ("mt5", "MT5ForTokenClassification"),
        ("gpt2", "GPT2ForSequenceClassification"),
        ("gpt2", "GPT2DoubleHeadsModel"),
    ],
)
def test_a_head_that_writes_no_texts_is_refused_before_weights_are_read(name, head, tmp_path):
    folder = changed(tmp_path, name, architectures=[head])
    (folder / "model.safetensors").unlink()
    with pytest.raises(ValueError, match=f"{head}.*only networks that write texts"):
        opened(folder)


@pytest.mark.parametrize("name", ["marian", "m2m100", "camembert", "reformer"])
def test_pieces_that_are_drawn_by_chance_are_refused(name, tmp_path):
    drawn = {"enable_sampling": True, "alpha": 0.1, "nbest_size": -1}
    folder = changed(tmp_path, name, "tokenizer_config.json", sp_model_kwargs=drawn)
    with pytest.raises(ValueError, match="sp_model_kwargs asks for enable_sampling = True"):
        opened(folder)


@pytest.mark.parametrize("given", [{"max_length": None}, {"max_length": 1000}], ids=["no bound", "a larger one"])
def test_an_output_is_no_longer_than_there_are_positions(given, tmp_path):
    """Its positions end first there, too; a search for more would be refused when the run is exported."""
    folder = changed(tmp_path, "bart", "generation_config.json", **given, max_new_tokens=None)
    made = opened(folder, tokenizers=False)
    most = json.loads((folder / "config.json").read_text())["max_position_embeddings"]
    assert most < 60 and made.recipe.search.max_output_length == most


@pytest.mark.parametrize(
    ("name", "changes"),
    [("m2m100", {"legacy_behaviour": True}), ("roberta", {"bos_token": None}), ("bart", {"bos_token": None})],
)
def test_what_changes_no_id_there_changes_none_here(name, changes, tmp_path):
    """A setting of NLLB's alone, and a token that RoBERTa has by itself."""
    assert has_its_ids(changed(tmp_path, name, "tokenizer_config.json", **changes))


def test_a_vocabulary_of_roberta_has_the_piece_of_gpt2_among_its_own(tmp_path):
    """As that of roberta-base, whose tokenizer_config.json names no special piece."""
    folder = shutil.copytree(DATA / "roberta", tmp_path / "roberta")
    (folder / "tokenizer.json").unlink()
    pieces = json.loads((folder / "vocab.json").read_text())
    (folder / "vocab.json").write_text(json.dumps(pieces | {"<|endoftext|>": len(pieces)}))
    (folder / "tokenizer_config.json").write_text('{"model_max_length": 512}')
    tokenizer, ids = read_byte_pairs(folder)
    assert [ids[each] for each in tokenizer.around.put([])] == [pieces["<s>"], pieces["</s>"]]


@pytest.mark.parametrize("name", [name for name in NAMES if (DATA / name / "said.json").is_file()])
def test_texts_have_the_ids_that_they_have_there(name):
    told, made = said(DATA / name), opened(DATA / name)
    tokenizer, ids = made.tokenizers[0], made.network.ids
    encoded = [[*tokenizer.before, *each, *tokenizer.after] for each in tokenizer.encode(told["texts"])]
    assert [ids[each].tolist() for each in encoded] == told["ids"]


def test_letters_that_only_the_target_knows_keep_their_vectors_side_by_side():
    """Alone as there; of several `MarianTokenizer` makes one unknown piece, as docs/tokenizers.md says."""
    made = opened(DATA / "marian")
    vocabulary = json.loads((DATA / "marian" / "vocab.json").read_text(encoding="utf-8"))
    found = [made.network.ids[row].tolist() for row in made.tokenizers[0].encode(["ß", "ßö", "ßq"])]
    assert found == [[vocabulary[piece] for piece in ("▁", *text)] for text in ("ß", "ßö", ("ß", "<unk>"))]


@pytest.mark.parametrize("name", ["bart", "m2m100", "marian_apart", "mt5"])
def test_a_pad_token_is_never_written_and_keeps_its_share_of_the_probabilities(name):
    """As there, where nothing is normalised behind the words that are barred; `measure` compares its logits."""
    made = opened(DATA / name, tokenizers=False)
    assert BOS in made.network.barred and PAD not in made.network.barred and [PAD] in made.recipe.search.bad_words


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bart", "mbart", "m2m100", "nllb", "t5", "mt5"])
def test_searches_write_what_is_written_there(name):
    """With what each source forces: its first tokens, its shortest length, its bad words, no bigram twice."""
    told, made = said(DATA / name), opened(DATA / name)
    tokenizer, ids, search = made.tokenizers[0], made.network.ids, made.recipe.search
    rows, lengths = pad([tokenizer.around.put(each) for each in tokenizer.encode(told["texts"])])
    for beams, there in ((1, told["greedy"]), (search.beam, told["beam"])):
        find = Searcher(made.model, beams, search.alpha, search.max_output_length, search)
        found, sizes, _ = map(np.asarray, find.predict_on_batch((rows, lengths)))
        written = [ids[row[:size]].tolist() for row, size in zip(found, sizes, strict=True)]
        assert written == [row[1:-1] if row[-1] == ids[EOS] else row[1:] for row in there]
        assert {row[0] for row in there} == {ids[BOS]}
