"""Recurrent models of every cell and every encoder answer alike in Keras, the SavedModel and ONNX."""

import pytest

from serving.export import export
from serving.runtime.artefact import read_manifest
from tests.recurrent.cases import CELLS
from tests.runs.test_recurrent import ENCODERS, recipe
from tests.serving.conftest import LABELS, randomised, settings_of
from tests.shared import mostly_at_releases
from zoo.tasks.parts.building import build_model

KINDS = {"translate": "generate", "classify": "classify", "compare": "compare", "tag": "tag"}
READERS = ("classify", "tag", "compare")
TEXTS = {"compare": ("the cat sat\ton the mat", "a mat\ta", "\ton a cat on a mat sat")}
# Each cell translates and reads; tests/runs/test_recurrent.py builds every mix.
MIXES = [("translate", cell, ENCODERS[(1 + number) % 3]) for number, cell in enumerate(CELLS)]
MIXES += [(READERS[number % 3], cell, ENCODERS[number % 3]) for number, cell in enumerate(CELLS)]


def check(one, tokenizers, path):
    tokenizers = tokenizers[: len(one.job.sides)]
    sizes = [tokenizer.vocab_size for tokenizer in tokenizers] + ([len(LABELS)] if one.job.labelled else [])
    given = {"texts": TEXTS[one.task]} if one.task in TEXTS else {}
    settings = settings_of(KINDS[one.task], int8=False, **given)
    parity = read_manifest(export(randomised(build_model(one.job, one, *sizes)), tokenizers, path, settings))["parity"]
    assert parity["passed"] and parity["max_abs_diff"] <= 1e-4
    return parity


@pytest.mark.release
@pytest.mark.parametrize(("task", "cell", "encoder"), mostly_at_releases(MIXES, 2))
def test_an_artefact_has_parity(task, cell, encoder, tokenizers, tmp_path):
    one = recipe(task, cell, encoder, num_layers=2)
    largest = check(one, tokenizers, tmp_path)["largest"]
    assert any(name.startswith("ONNX") for name in largest) and any(name.startswith("SavedModel") for name in largest)


@pytest.mark.release
def test_a_decoder_without_attention(tokenizers, tmp_path):
    check(recipe("translate", "lstm", "unidirectional", attention="none"), tokenizers, tmp_path)
