"""Configurations as published files have them: keys that nothing reads any more, and keys that are left out."""

import json
import shutil

import numpy as np
import pytest

from tests.pretrained.test_hostile import weights
from tests.pretrained.tiny import DATA, NEAR, changed, difference, has_its_ids, opened
from zoo.pretrained.parts import task_and_labels
from zoo.pretrained.reading import Reading

OLDER = {
    "marian": {  # opus-mt-de-en
        "_num_labels": 3, "classif_dropout": 0.0, "decoder_vocab_size": "vocab_size", "extra_pos_embeddings": 58101,
        "forced_eos_token_id": 0, "init_std": 0.02, "max_length": 512, "normalize_before": False, "num_beams": 6,
        "save_step": 1000000, "transformers_version": "4.22.0.dev0", "normalize_embedding": False,
    },
    "bart": {  # distilbart-cnn-12-6
        "extra_pos_embeddings": 2, "force_bos_token_to_be_generated": True, "output_past": True, "prefix": " ",
        "replacing_rate": 0, "save_step": 58, "static_position_embeddings": False, "student_decoder_layers": None,
        "student_encoder_layers": None, "task_specific_params": {"summarization": {"min_length": 56}},
    },
    "bert": {  # bert-base-multilingual-cased, and dslim/bert-base-NER
        "directionality": "bidi", "gradient_checkpointing": False, "max_len": 512, "output_past": True,
        "pooler_fc_size": 768, "pooler_num_attention_heads": 12, "pooler_num_fc_layers": 3,
        "pooler_size_per_head": 128, "pooler_type": "first_token_transform",
    },
    "gpt2": {"n_special": 0, "predict_special_tokens": True, "summary_activation": None},  # gpt2-xl
    "t5": {"n_positions": 512, "output_past": True, "task_specific_params": {"translation_en_to_de": {"num_beams": 4}}},
}  # fmt: skip


@pytest.mark.parametrize("name", OLDER)
def test_what_nothing_reads_any_more_is_let_pass(name, tmp_path):
    size = json.loads((DATA / name / "config.json").read_text())["vocab_size"]
    older = {key: size if value == "vocab_size" else value for key, value in OLDER[name].items()}
    assert opened(changed(tmp_path, name, **older), tokenizers=False).model.count_params() > 0


def test_a_key_that_nobody_knows_is_refused(tmp_path):
    with pytest.raises(ValueError, match="save_steps = 3 is a setting that is not known"):
        opened(changed(tmp_path, "bert", save_steps=3), tokenizers=False)


LEFT_OUT = {
    "roberta": ["pad_token_id", "bos_token_id", "eos_token_id", "hidden_act"],
    "distilbert": ["activation", "pad_token_id"],
    "bart": ["pad_token_id", "bos_token_id", "eos_token_id", "decoder_start_token_id", "activation_function"],
    "gpt2": ["activation_function"],
}


@pytest.mark.parametrize("name", LEFT_OUT)
def test_a_key_that_is_left_out_has_the_value_that_it_has_there(name, tmp_path):
    folder = changed(tmp_path, name, **dict.fromkeys(LEFT_OUT[name]))
    for each in folder.glob("*token*.json"):
        each.unlink()  # which name special pieces, too
    assert difference(folder) < NEAR


@pytest.mark.parametrize("name", ["bart", "roberta", "gpt2"])
def test_files_that_name_no_class_of_tokenizers_have_that_of_their_vocabulary(name, tmp_path):
    """As cardiffnlp/twitter-roberta-base-sentiment was saved: its special pieces have a file of their own."""
    folder = shutil.copytree(DATA / name, tmp_path / name)
    told = json.loads((folder / "tokenizer_config.json").read_text())
    for file in ("tokenizer.json", "tokenizer_config.json"):
        (folder / file).unlink()
    special = {key: value for key, value in told.items() if key.endswith("_token")}
    (folder / "special_tokens_map.json").write_text(json.dumps(special))
    assert has_its_ids(folder)


PIECE = {"content": "[PAD]", "special": True, "normalized": False}


@pytest.mark.parametrize("special", [True, False])
@pytest.mark.parametrize("file", ["added_tokens", "tokenizer_config"])
def test_pieces_may_have_been_added_behind_the_vocabulary(file, special, tmp_path):
    """As [PAD] was to many a GPT-2; one that is no special piece would be looked for in texts, which is not done."""
    folder = shutil.copytree(DATA / "gpt2", tmp_path / "gpt2")
    told, config = (json.loads((folder / f"{each}.json").read_text()) for each in ("tokenizer_config", "config"))
    size = config["vocab_size"]
    (folder / "tokenizer.json").unlink()
    (folder / "answers.npz").unlink()
    (folder / "config.json").write_text(json.dumps(config | {"vocab_size": size + 1, "pad_token_id": size}))
    weights(lambda all: all | {"transformer.wte.weight": np.pad(all["transformer.wte.weight"], [(0, 1), (0, 0)])})(
        folder
    )
    told |= {"pad_token": "[PAD]"} if special else {}
    if file == "added_tokens":
        (folder / "added_tokens.json").write_text(json.dumps({"[PAD]": size}))
    else:
        told |= {"added_tokens_decoder": {str(size): PIECE | {"special": special}}}
    (folder / "tokenizer_config.json").write_text(json.dumps(told))
    if not special:
        with pytest.raises(ValueError, match="looks for the piece '.PAD.' in texts, which is not done here"):
            opened(folder)
        return
    made = opened(folder)
    assert made.network.ids[0] == size and made.tokenizers[0].vocab_size == len(made.network.ids)
    assert not {0} & {each for row in made.tokenizers[0].encode(["a [PAD] b"]) for each in row}


@pytest.mark.parametrize("name", ["bart", "m2m100"])
def test_a_network_without_its_output_has_no_prefix(name, tmp_path):
    """facebook/bart-base was saved so; the second has no bias of the output, either."""
    folder = shutil.copytree(DATA / name, tmp_path / name)
    weights(lambda all: {name.removeprefix("model."): each for name, each in all.items()})(folder)
    assert difference(folder) < NEAR


@pytest.mark.parametrize(
    ("said", "labels"),
    [
        ({}, ("LABEL_0", "LABEL_1")),  # `save_pretrained` leaves out what is usual
        ({"num_labels": 3}, ("LABEL_0", "LABEL_1", "LABEL_2")),
        ({"id2label": {"0": "no", "1": "yes"}, "num_labels": 2}, ("no", "yes")),
    ],
)
def test_classes_without_names_are_two_and_called_as_there(said, labels):
    config = Reading({"architectures": ["BertForSequenceClassification"]} | said, "config.json")
    assert task_and_labels(config) == ("classify", labels) and not config.problems
    assert task_and_labels(Reading(config.settings | {"id2label": ["no", "yes"]}, "config.json")) == ("classify", ())
