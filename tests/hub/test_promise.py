"""What seqzoo wrote since 0.1.0 is read by every later one: `dates/2` of this hub is frozen, and answers as ever.

It is not exported again. A change that this test refuses needs a new format and a reader of this one.
"""

import gzip
import json

import numpy as np
import pytest

from serving.runtime import Runtime
from tests.house_rules import ROOT

FROZEN = ROOT / "hub" / "dates" / "2"
SEAL = "ce62c4ae0f6e05c8608c03d52cc8657fb1b69deb67df15951b477dd8b44348d0"  # which stands for the hashes of all files
COUNT = 200  # of its 2,000 answers


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
    import zoo
    from zoo.data import pad
    from zoo.decoding import greedy
    from zoo.recipes import load

    recipe, model = load(FROZEN / "recipe.toml"), zoo.load(FROZEN)
    source, target = (zoo.text.load_tokenizer((FROZEN / f"{side}.spm").read_bytes()) for side in ("source", "target"))
    rows = [source.around.put(ids) for ids in source.encode([each["input"] for each in answers[:20]])]
    ids, lengths, _ = greedy(model, model.encode(*pad(rows)), recipe.search.max_output_length)
    written = zip(np.asarray(ids)[:, 0], np.asarray(lengths)[:, 0], strict=True)
    found = target.decode([row[:count] for row, count in written])
    assert found == [each["output"] for each in answers[:20]]
