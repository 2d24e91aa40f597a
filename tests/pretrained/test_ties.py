"""Embeddings that are the output as well: a file may hold them once, or under all their names, or two of them."""

import numpy as np
import pytest

from tests.pretrained.test_hostile import WEIGHTS, safetensors, tensors
from tests.pretrained.tiny import NEAR, changed, difference

SIDES = [f"model.{side}.embed_tokens.weight" for side in ("encoder", "decoder")]
TIED = {  # the tensor -> its other names, as pytorch_model.bin has them all
    "marian": ("model.shared.weight", [*SIDES, "lm_head.weight"]),
    "mbart": ("model.shared.weight", [*SIDES, "lm_head.weight"]),
    "t5": ("shared.weight", ["encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "lm_head.weight"]),
    "gpt2": ("transformer.wte.weight", ["lm_head.weight"]),
}


def rewrite(name, tmp_path, change, **settings):
    """A copy of a tiny network with other tensors and settings; None takes a setting out."""
    folder = changed(tmp_path, name, **settings)
    arrays = tensors(folder)
    change(arrays)
    (folder / WEIGHTS).write_bytes(safetensors(arrays))
    return folder


@pytest.mark.parametrize("main", ["held", "missing"])
@pytest.mark.parametrize("name", TIED)
def test_a_tied_tensor_may_have_all_its_names_or_all_but_the_main_one(name, main, tmp_path):
    tensor, others = TIED[name]
    take = dict.pop if main == "missing" else dict.__getitem__
    folder = rewrite(name, tmp_path, lambda arrays: arrays.update(dict.fromkeys(others, take(arrays, tensor))))
    assert difference(folder) < NEAR


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("name", ["t5", "gpt2"])
def test_an_output_of_its_own_is_read_whatever_the_configuration_says(name, tied, tmp_path):
    """transformers 5 saves `tie_word_embeddings = true` of them, too. Logits are linear in the matrix."""
    tensor, _ = TIED[name]
    change = lambda arrays: arrays.update({"lm_head.weight": np.float32(2) * arrays[tensor]})  # noqa: E731
    folder = rewrite(name, tmp_path, change, tie_word_embeddings=tied)
    assert difference(folder, lambda logits: 2 * logits) < NEAR


def test_mt5_scales_no_states(tmp_path):
    """T5 reads its logits off `states / sqrt(units)`, where it is tied; mT5 does not."""
    folder = rewrite("t5", tmp_path, lambda arrays: None, model_type="mt5", scale_decoder_outputs=None)
    assert difference(folder, lambda logits: 4 * logits) < NEAR  # of 16 units
