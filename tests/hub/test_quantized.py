"""Every published model, quantized by Keras, is saved and loaded again, and answers alike, bit for bit."""

import json

import keras
import numpy as np
import pytest

import zoo
from tests.house_rules import ROOT
from zoo.check.laws import lengths, numpy_leaves, token_ids
from zoo.check.of_keras import MODES, quantize
from zoo.models import LanguageModel, PairClassifier
from zoo.models.labelling import Labeller

HUB = ROOT / "hub"
NAMES = [each["name"] for each in json.loads((HUB / "index.json").read_text(encoding="utf-8"))["models"]]
FOLDERS = {name: max((HUB / name).iterdir()) for name in NAMES if (HUB / name).is_dir()}
ROWS = ((1, 7), (2, 3), (3, 5))
IDS, LENGTHS = token_ids(ROWS, 7, 12), lengths(ROWS)  # no vocabulary is smaller


def inputs_of(model):
    if isinstance(model, LanguageModel):
        return {"token_ids": IDS}
    if isinstance(model, PairClassifier):
        return {"first_ids": IDS, "first_lengths": LENGTHS, "second_ids": IDS[::-1], "second_lengths": LENGTHS[::-1]}
    if isinstance(model, Labeller):
        return {"token_ids": IDS, "lengths": LENGTHS}
    return {"source_ids": IDS, "source_lengths": LENGTHS, "target_ids": IDS[:, :5]}


def check(name, mode, folder):
    model = zoo.load(FOLDERS[name])
    inputs = inputs_of(model)
    before = numpy_leaves(model(inputs))
    assert quantize(model, mode)
    expected = numpy_leaves(model(inputs))
    assert any(not np.array_equal(*pair) for pair in zip(before, expected, strict=True)), "nothing is quantized"
    model.save(folder / "model.keras")
    loaded = keras.models.load_model(folder / "model.keras", safe_mode=True)
    for one, other in zip(numpy_leaves(loaded(inputs)), expected, strict=True):
        np.testing.assert_array_equal(one, other)
    assert [each.dtype for each in loaded.weights] == [each.dtype for each in model.weights]


def test_the_hub_is_whole():
    assert len(FOLDERS) == 37


OFTEN = ("babi-1", "intents", "pos-en-star", "hu-lstm")


@pytest.mark.release(but=OFTEN)
@pytest.mark.slow
@pytest.mark.parametrize("name", FOLDERS)
def test_int8(name, tmp_path):
    check(name, "int8", tmp_path)


@pytest.mark.release(but="babi")
@pytest.mark.slow
@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "int8"])
@pytest.mark.parametrize("name", ["dates", "dates-depth-adaptive", "pos-en-star", "pronounce-hu-lstm", "babi"])
def test_other_modes(name, mode, tmp_path):
    check(name, mode, tmp_path)
