"""Language models whose slots hold spans, product keys or position tensors are exported and checked as any other."""

import pytest

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


def tensors():
    return [PreNorm(MultiLinearAttention(16, 8, max_time=48), FeedForward(16, 32))], LearnedPositions(48)


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
