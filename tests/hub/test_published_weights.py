"""The published `model.keras` files load with the weights that they were trained to: they predict the stored answers.

Keras finds the weights in a file by the names of attributes, and numbers the layers of one class as they are made. So a
changed attribute or order may cost users their files, and no test that saves and loads with one version can notice.
"""

import json

import keras
import numpy as np
import pytest

from serving.hub.outputs import FILE, unpack
from tests.house_rules import ROOT
from zoo.recipes.files import read_stored
from zoo.recipes.folder import tokenizer_names
from zoo.text.kinds import load_tokenizer
from zoo.training.steps import model_inputs

# One of each class of models; the Tagger has a star and the Classifier one block for all steps.
QUICK = ("dates", "dates-depth-adaptive", "pos-en-star", "babi")
NAMES = [each["name"] for each in json.loads((ROOT / "hub" / "index.json").read_text("utf-8"))["models"]]
COUNT = 32


def predicted(name):
    """The share of the stored answers' tokens, or labels, that the model finds likeliest, given those before."""
    (folder,) = (ROOT / "hub" / name).glob("[0-9]*")
    recipe, manifest = read_stored(folder / "recipe.toml"), json.loads((folder / "manifest.json").read_text("utf-8"))
    model = keras.models.load_model(folder / "model.keras", compile=False, safe_mode=True)
    tokenizers = tuple(load_tokenizer(folder / each) for each in tokenizer_names(recipe))
    columns = unpack((folder / FILE).read_bytes())
    inputs, _, outputs = (column[:: max(1, len(column) // COUNT)][:COUNT] for column in columns)
    examples = (["".join(inputs)], [""]) if recipe.data.windows else (inputs, outputs)
    right = []
    for batch in recipe.job.batches(recipe, tokenizers, manifest.get("labels", ()), examples):
        logits = np.asarray(model(model_inputs(batch)))
        logits = logits[:, -1] if logits.ndim == 4 else logits  # of the last depth
        right.extend((logits.argmax(-1) == batch["labels"])[batch["weights"] > 0])
    return np.mean(right)


@pytest.mark.parametrize(
    "name", [each if each in QUICK else pytest.param(each, marks=pytest.mark.slow) for each in NAMES]
)
def test_stored_answers_are_likeliest(name):
    assert predicted(name) > (0.3 if name.startswith(("shakespeare", "novels")) else 0.9)  # a text is not an answer
