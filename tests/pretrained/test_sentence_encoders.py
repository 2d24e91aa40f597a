"""What a folder of sentence-transformers says of its vectors is read, or refused by name."""

import json
import shutil

import pytest

from tests.pretrained.tiny import DATA, opened
from zoo.core.storage import write_json

AROUND = 2  # [CLS] and [SEP], which count there


def imported(tmp_path, **files):
    """The tiny MiniLM with other settings in some of its files."""
    folder = shutil.copytree(DATA / "minilm", tmp_path / "minilm")
    for name, changes in files.items():
        path = folder / f"{name}.json"
        there = json.loads(path.read_text()) if path.is_file() else {}
        write_json(path, [*there, *changes] if isinstance(there, list) else there | changes)
    return opened(folder)


@pytest.mark.parametrize(
    ("files", "longest"),
    [
        ({"sentence_bert_config": {"max_seq_length": 16}, "tokenizer_config": {"model_max_length": 32}}, 16),
        # sentence-transformers 6 saves no max_seq_length, and reads that of the tokenizer in any case.
        ({"sentence_bert_config": {"transformer_task": "x"}, "tokenizer_config": {"model_max_length": 32}}, 32),
        ({"tokenizer_config": {"model_max_length": 10**30}}, 40),
    ],
)
def test_a_long_text_is_cut_where_it_is_cut_there(files, longest, tmp_path):
    assert imported(tmp_path, **files).recipe.text.max_input_length == longest - AROUND


PROMPTS = {"query": "query: ", "document": ""}


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"sentence_bert_config": {"do_lower_case": True}, "tokenizer_config": {"do_lower_case": False}}, "do_lower_c"),
        (
            {"config_sentence_transformers": {"default_prompt_name": "query", "prompts": PROMPTS}},
            "puts 'query: ' before every text.* Set default_prompt_name to null",
        ),
        ({"modules": [{"type": "sentence_transformers.models.Dense", "path": "2_Dense"}]}, "known here are Transfo"),
        ({"1_Pooling/config": {"pooling_mode_mean_tokens": False, "pooling_mode_max_tokens": True}}, "max_tokens; k"),
    ],
    ids=str,
)
def test_what_would_give_other_vectors_is_refused(files, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        imported(tmp_path, **files)


@pytest.mark.parametrize(
    "files",
    [
        {"sentence_bert_config": {"do_lower_case": True}},  # as its tokenizer does in any case
        {"config_sentence_transformers": {"default_prompt_name": None, "prompts": PROMPTS}},
        {"config_sentence_transformers": {"default_prompt_name": "document", "prompts": PROMPTS}},
    ],
    ids=str,
)
def test_what_changes_nothing_is_passed_over(files, tmp_path):
    assert imported(tmp_path, **files).recipe.model.normalize
