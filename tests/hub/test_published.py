"""What is published: every later seqzoo reads it, its weights are found, and no text changes the answer to another.

`dates/2` of this hub is frozen: a change that its tests refuse needs a new format and a reader of this one.

Keras finds the weights in a file by the names of attributes, and numbers the layers of one class as they are made. So a
changed attribute or order may cost users their files, and no test that saves and loads with one version can notice.

An answer is the same alone, in a batch, in any order, and beside any other text. Sums of float32 in another order may
decide between two answers that are nearly as likely: of all texts of a model one may differ, in int8 as in float32.
"""

import gzip
import json
import random

import keras
import numpy as np
import pytest

import zoo
from serving.hub.published import OUTPUTS, unpack_outputs
from serving.runtime import Runtime
from tests.house_rules import ROOT
from zoo.data import pad
from zoo.decoding import greedy
from zoo.recipes import load
from zoo.recipes.files import read_stored
from zoo.recipes.folder import tokenizer_names
from zoo.tasks.parts.task import one_line
from zoo.text.tokenizer_files import load_tokenizer
from zoo.training.steps import model_inputs

FROZEN = ROOT / "hub" / "dates" / "2"
SEAL = "ce62c4ae0f6e05c8608c03d52cc8657fb1b69deb67df15951b477dd8b44348d0"  # which stands for the hashes of all files
COUNT = 200  # of its 2,000 answers
# One of each class of models; the Tagger has a star and the Classifier one block for all steps.
OF_EACH_CLASS = ("dates", "dates-depth-adaptive", "pos-en-star", "babi")
STORED = 32  # answers that are predicted
QUICK = ("dates", "intents-en", "pos-en", "translate-en-zh")
NAMES = sorted({each["name"] for each in json.loads((ROOT / "hub" / "index.json").read_text("utf-8"))["models"]})
ALLOWED = 1  # texts


@pytest.fixture(scope="module")
def answers():
    with gzip.open(FROZEN / "outputs.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line, _ in zip(lines, range(COUNT), strict=False)]


def test_a_published_artefact_is_read_and_answers_as_ever(answers):
    assert json.loads((FROZEN / "manifest.json").read_text(encoding="utf-8"))["manifest_sha256"] == SEAL
    found = Runtime(FROZEN).run([each["input"] for each in answers])
    assert [each.text for each in found] == [each["output"] for each in answers]


@pytest.mark.slow
def test_its_keras_model_and_its_recipe_are_read(answers):
    recipe, model = load(FROZEN / "recipe.toml"), zoo.load(FROZEN)
    source, target = (zoo.text.load_tokenizer((FROZEN / f"{side}.spm").read_bytes()) for side in ("source", "target"))
    rows = [source.around.put(ids) for ids in source.encode([each["input"] for each in answers[:20]])]
    ids, lengths, _ = greedy(model, model.encode(*pad(rows)), recipe.search.max_output_length)
    written = zip(np.asarray(ids)[:, 0], np.asarray(lengths)[:, 0], strict=True)
    found = target.decode([row[:count] for row, count in written])
    assert found == [each["output"] for each in answers[:20]]


def predicted(name):
    """The share of the stored answers' tokens, or labels, that the model finds likeliest, given those before."""
    (folder,) = (ROOT / "hub" / name).glob("[0-9]*")
    recipe, manifest = read_stored(folder / "recipe.toml"), json.loads((folder / "manifest.json").read_text("utf-8"))
    model = keras.models.load_model(folder / "model.keras", compile=False, safe_mode=True)
    tokenizers = tuple(load_tokenizer(folder / each) for each in tokenizer_names(recipe))
    columns = unpack_outputs((folder / OUTPUTS).read_bytes())
    inputs, _, outputs = (column[:: max(1, len(column) // STORED)][:STORED] for column in columns)
    examples = (["".join(inputs)], [""]) if recipe.data.windows else (inputs, outputs)
    right = []
    for batch in recipe.job.batches(recipe, tokenizers, manifest.get("labels", ()), examples):
        logits = np.asarray(model(model_inputs(batch)))
        logits = logits[:, -1] if logits.ndim == 4 else logits  # of the last depth
        right.extend((logits.argmax(-1) == batch["labels"])[batch["weights"] > 0])
    return np.mean(right)


@pytest.mark.parametrize(
    "name", [each if each in OF_EACH_CLASS else pytest.param(each, marks=pytest.mark.slow) for each in NAMES]
)
def test_stored_answers_are_likeliest(name):
    assert predicted(name) > (0.3 if name.startswith(("shakespeare", "novels")) else 0.9)  # a text is not an answer


def texts_of(folder, runtime, count):
    """Texts of the model's own test set; of a language model prompts."""
    inputs = list(dict.fromkeys(map(one_line, unpack_outputs((folder / OUTPUTS).read_bytes())[0])))
    if runtime.kind == "continue":
        whole = " ".join(inputs)
        inputs = [whole[97 * start : 97 * start + 8 + 37 * start % 120] for start in range(count)]
    return random.Random(1).sample(inputs, min(count, len(inputs)))


def noise(text, seed):
    """A text of the same length that nobody would send; of a pair, both sides."""
    drawn = random.Random(seed)
    return "".join(each if each == "\t" else drawn.choice("qxzjkv .,!7") for each in text)


def changed(runtime, texts):
    """How many texts have another answer in one of three batches than alone."""
    alone = [runtime.run([text])[0].answer for text in texts]
    beside = [each for number, text in enumerate(texts) for each in (text, noise(text, number))]
    asked = {"together": texts, "reversed": texts[::-1], "beside noise": beside}
    found = {name: [result.answer for result in runtime.run(batch)] for name, batch in asked.items()}
    others = zip(found["together"], found["reversed"][::-1], found["beside noise"][::2], strict=True)
    return sum(any(each != own for each in row) for own, row in zip(alone, others, strict=True))


@pytest.mark.release(but=(*QUICK, *NAMES[::4]))
@pytest.mark.parametrize(
    "name", [each if each in QUICK else pytest.param(each, marks=pytest.mark.slow) for each in NAMES]
)
def test_an_answer_does_not_depend_on_the_texts_beside_it(name):
    (folder,) = (ROOT / "hub" / name).glob("[0-9]*")
    runtime = Runtime(folder, threads=1)
    texts = texts_of(folder, runtime, 40 if name in QUICK else 100)
    assert len(texts) >= 20 and changed(runtime, texts) <= ALLOWED
