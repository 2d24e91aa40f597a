"""A law of all published models: an answer is the same alone, in a batch, in any order, and beside any other text.

Sums of float32 in another order may decide between two answers that are nearly as likely: of all texts of a model one
may differ, in int8 as in float32.
"""

import json
import random

import pytest

from serving.hub.outputs import FILE, unpack
from serving.runtime import Runtime
from tests.house_rules import ROOT
from zoo.tasks.parts.task import one_line

QUICK = ("dates", "intents-en", "pos-en", "translate-en-zh")
NAMES = sorted({each["name"] for each in json.loads((ROOT / "hub" / "index.json").read_text("utf-8"))["models"]})
ALLOWED = 1  # texts


def texts_of(folder, runtime, count):
    """Texts of the model's own test set; of a language model prompts."""
    inputs = list(dict.fromkeys(map(one_line, unpack((folder / FILE).read_bytes())[0])))
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
