"""A Reformer is exported, checked and served as any other model of its kind."""

import pytest

from serving.export import export
from serving.runtime.artefact import read_manifest
from tests.serving.conftest import randomised, settings_of, sides
from zoo.depth import make_reformer_stack
from zoo.embeddings import AxialPositions
from zoo.models import LanguageModel, Transformer


def stack(chunk_length=4, cross=False):
    hashing = {"num_buckets": 4, "chunk_length": chunk_length}
    return make_reformer_stack(1, 16, 2, 32, hashing=hashing, chunks=2, cross=cross, seed=1)


@pytest.mark.release(but=1)
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["continue", "generate"])
def test_an_artefact_of_a_reformer_has_parity(kind, tokenizers, tmp_path):
    source, target = (tokenizer.vocab_size for tokenizer in tokenizers)
    if kind == "continue":
        model = LanguageModel(source, stack(), AxialPositions((7, 2)))
    else:
        model = Transformer(source, target, stack(), stack(cross=True))
    artefact = export(randomised(model), sides(kind, tokenizers), tmp_path, settings_of(kind))
    parity = read_manifest(artefact)["parity"]
    assert parity["passed"] and parity["max_abs_diff"] <= 1e-4
