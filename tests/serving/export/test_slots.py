"""Language models whose slots hold spans, product keys or position tensors are exported and checked as any other."""

import numpy as np
import pytest
import tensorflow as tf

from serving.export import export
from serving.runtime.artefact import read_manifest
from tests.serving.conftest import randomised, settings_of, sides
from zoo.attention import AdaptiveSpanAttention, MultiLinearAttention
from zoo.blocks import PreNorm
from zoo.depth import Stack
from zoo.embeddings import LearnedPositions
from zoo.feedforward import FeedForward, ProductKeyMemory
from zoo.models import LanguageModel


def spans():
    attention = AdaptiveSpanAttention(16, 2, max_span=64, ramp=4)
    return [PreNorm(attention, ProductKeyMemory(16, 8, 2, 4, 8))], None


def tensors(longest=48):
    return [PreNorm(MultiLinearAttention(16, 8, max_time=longest), FeedForward(16, 32))], LearnedPositions(longest)


@pytest.mark.slow
@pytest.mark.parametrize("parts", [spans, tensors])
def test_an_artefact_has_parity(parts, tokenizers, tmp_path):
    blocks, positions = parts()
    model = randomised(LanguageModel(tokenizers[0].vocab_size, Stack(blocks), positions))
    if parts is spans:
        blocks[0].attention.fractions.assign([0.0, 0.1])
    artefact = export(model, sides("continue", tokenizers), tmp_path, settings_of("continue"))
    assert parts is tensors or blocks[0].attention.window == 10, "trimmed to what the widest head sees"
    parity = read_manifest(artefact)["parity"]
    assert parity["passed"] and parity["max_abs_diff"] <= 1e-4


@pytest.mark.slow
def test_texts_are_scored_up_to_the_positions_of_a_model_and_longer_ones_are_refused(tokenizers, tmp_path):
    blocks, positions = tensors(10)  # fewer than the parity check would like to ask for
    model = randomised(LanguageModel(tokenizers[0].vocab_size, Stack(blocks), positions))
    artefact = export(model, sides("continue", tokenizers), tmp_path, settings_of("continue", max_length=5))
    assert read_manifest(artefact)["parity"]["passed"]
    score = tf.saved_model.load(str(artefact)).signatures["score"]
    ids = tf.fill((2, 10), 5)
    assert np.isfinite(score(token_ids=ids[:, :9], lengths=tf.constant([9, 3]))["log_probs"]).all()
    with pytest.raises(tf.errors.InvalidArgumentError, match="too many columns: at most 9 tokens are read"):
        score(token_ids=ids, lengths=tf.constant([10, 3]))
