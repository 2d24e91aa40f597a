"""A model that writes is exported with positions of somebody else's: the gate compares every form with the model."""

import pytest

from serving.export import export
from tests.models.test_entrance import SIZES, Normed, NormedLearned, randomised
from tests.serving.conftest import settings_of, sides
from zoo.depth import make_stack
from zoo.models import LanguageModel, Transformer


@pytest.mark.release
@pytest.mark.parametrize("kind", ["continue", "generate"])
def test_positions_with_a_norm_behind_them_are_exported(kind, tokenizers, tmp_path):
    sizes = [each.vocab_size for each in sides(kind, tokenizers)]
    if kind == "continue":
        model = LanguageModel(*sizes, make_stack(2, **SIZES), NormedLearned(24))
    else:
        stacks = make_stack(1, **SIZES), make_stack(1, **SIZES, cross=True)
        model = Transformer(*sizes, *stacks, positions=Normed())
    export(randomised(model), sides(kind, tokenizers), tmp_path, settings_of(kind))
    (manifest,) = tmp_path.glob("*/*/manifest.json")
    assert sorted(manifest.parent.glob("*.onnx"))
