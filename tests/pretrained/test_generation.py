"""A generation configuration as the search of a recipe: what is honoured, and what is refused by name."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.pretrained.tiny import changed, opened
from zoo.core.storage import write_json
from zoo.pretrained.generation import search_of
from zoo.settings.training import Continuation, Search

MARIAN = Path(__file__).with_name("data") / "marian"
IDS = np.array([9, 1, 9, 0, 2, 3, 4, 5, 6, 7, 8])  # ours 0 and 2, PAD and BOS, are its pad 9; ours 3, EOS, is its 0
OPUS = {
    "bad_words_ids": [[9]],
    "bos_token_id": 0,
    "decoder_start_token_id": 9,
    "eos_token_id": 0,
    "forced_eos_token_id": 0,
    "max_length": 512,
    "num_beams": 6,
    "pad_token_id": 9,
    "renormalize_logits": True,
    "transformers_version": "4.32.0",
}


def honoured(given, **more):
    found, problems = search_of(given, IDS, **more)
    assert problems == []
    table = (Continuation if more.get("prompts") else Search)(**found)
    return {name: getattr(table, name) for name in found}


def test_an_opus_translator():
    assert honoured(OPUS) == {
        "alpha": 1.0,
        "penalty": "length",
        "ends": "first",
        "longest": "end",
        "stop": "likely",
        "no_repeat_ngram_size": 0,
        "repetition_penalty": 1.0,
        "min_length": 0,
        "renormalize": True,
        "max_output_length": 510,
        "beam": 6,
        "forced_tokens": [],
        "barred_tokens": [0, 2],
        "bad_words": [],
    }
    assert honoured(OPUS, barred=(0, 2))["barred_tokens"] == []


def test_a_penalty_comes_before_tokens_are_barred():
    """Its factor is of log-probabilities that still share with them; one text of 64 told."""
    found = honoured(OPUS | {"repetition_penalty": 1.5})
    assert found["bad_words"] == [[0], [2]] and "barred_tokens" not in found


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"early_stopping": True}, {"stop": "full"}),
        ({"early_stopping": "never", "length_penalty": 2}, {"stop": "sure", "alpha": 2.0}),
        ({"early_stopping": None, "num_beams": None}, {"stop": "likely", "beam": 1}),
        ({"max_length": 142, "min_length": 56}, {"max_output_length": 141, "min_length": 55, "longest": "count"}),
        ({"max_new_tokens": 30, "max_length": 9, "min_new_tokens": 4}, {"max_output_length": 30, "min_length": 4}),
        ({"forced_bos_token_id": 2}, {"forced_tokens": [4]}),
        ({"bad_words_ids": [[9], [2, 3], [0]]}, {"bad_words": [[0], [2], [4, 5]], "barred_tokens": []}),
        ({"suppress_tokens": [8, 5]}, {"bad_words": [[10], [7]]}),
        (
            {"no_repeat_ngram_size": 3, "repetition_penalty": 1.2},
            {"no_repeat_ngram_size": 3, "repetition_penalty": 1.2},
        ),
        ({"do_sample": False, "top_k": 50, "temperature": 0.7, "num_return_sequences": 2}, {"renormalize": False}),
    ],
    ids=str,
)
def test_settings_that_are_honoured(given, expected):
    found = honoured(given)
    default = {"barred_tokens": [], "renormalize": False} | found
    assert {name: default[name] for name in expected} == expected
    assert "max_output_length" not in found or "max_length" in given or "max_new_tokens" in given


REFUSED = {
    "do_sample": True,
    "num_beam_groups": 2,
    "encoder_no_repeat_ngram_size": 3,
    "begin_suppress_tokens": [1],
    "exponential_decay_length_penalty": [5, 1.1],
    "guidance_scale": 2.0,
    "length_penalty": -1.0,
    "early_stopping": "soon",
    "num_beams": 2.5,
    "eos_token_id": [0, 4],
    "decoder_start_token_id": 3,
    "forced_eos_token_id": 5,
    "forced_bos_token_id": 99,
    "bad_words_ids": [4],
    "renormalize_logits": 1,
    "max_length": 0,
    "a_new_setting": 1,
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_honoured_is_refused_by_name(name):
    _, problems = search_of({name: REFUSED[name]}, IDS)
    assert [each for each in problems if each.startswith(f"{name} ")], problems


def test_what_counts_the_prompt_is_refused_of_a_model_that_continues_it():
    found = honoured({"max_new_tokens": 9, "eos_token_id": 0, "num_beams": 1, "min_length": 0}, prompts=True)
    assert found["max_output_length"] == 9 and found["longest"] == "count"
    _, problems = search_of({"min_length": 3, "forced_bos_token_id": 2, "num_beams": 4, "do_sample": True}, IDS, True)
    assert [each.split()[0] for each in problems] == ["do_sample", "min_length", "forced_bos_token_id", "num_beams"]


@pytest.mark.parametrize(
    ("given", "longest"), [({"max_length": 20}, 19), ({"max_length": 50, "max_new_tokens": 7}, 7)], ids=str
)
def test_a_length_that_counts_the_prompt_is_the_longest_of_a_continuation(given, longest):
    """GPT-2's folders have it, with the defaults of transformers; it was refused, though it changes no token."""
    usual = {"do_sample": False, "num_beams": 1, "min_length": 0, "temperature": 1.0, "top_k": 50, "eos_token_id": 0}
    assert honoured(usual | given, prompts=True)["max_output_length"] == longest


@pytest.mark.parametrize("ids", [[1, 3, 0, 0, 2], [1, 3, 5, 0, 2, 5]])
@pytest.mark.parametrize("given", [{"repetition_penalty": 1.1}, {"no_repeat_ngram_size": 1}], ids=str)
def test_a_start_that_may_be_written_counts_as_repeated(given, ids):
    """As an end, which `transformers` then never writes, or as the language of mBART."""
    _, problems = search_of(given, np.array(ids))
    assert problems == [f"{next(iter(given))} counts the token that starts the decoder, which may be written, too"]


@pytest.fixture
def folder(tmp_path):
    return shutil.copytree(MARIAN, tmp_path / "marian")


def test_an_import_searches_as_its_source(folder):
    search = opened(folder, tokenizers=False).recipe.search
    assert (search.penalty, search.ends, search.longest, search.stop) == ("length", "first", "end", "likely")
    assert (search.beam, search.alpha, search.max_output_length) == (1, 1.0, 60)


def test_all_that_is_refused_is_told_at_once(folder):
    write_json(folder / "generation_config.json", {"do_sample": True, "stop_strings": ["."], "num_beams": 4})
    with pytest.raises(ValueError, match="stop_strings") as error:
        opened(folder, tokenizers=False)
    assert "do_sample is true" in str(error.value)
    (folder / "generation_config.json").unlink()
    search = opened(changed(folder.parent, "marian", num_beams=3, length_penalty=0.5), tokenizers=False).recipe.search
    assert (search.beam, search.alpha) == (3, 0.5), "older files have them among those of the network"
