"""The compiled steps of recipes become modules for platforms that are not here, and their operations are counted right.

The first group has a recipe for each kind of layer; docs/readiness.py does all recipes, with their data.
"""

import json

import pytest

from tests.shared import python
from zoo import recipes
from zoo.training.steps.needs import PLATFORMS

# XLA counts the body of a loop over time once, and a running sum of n numbers as n * n operations: it does not compute
# them so. Everywhere else its account and ours agree.
LOOPS, RUNNING_SUMS = ("gru", "lstm", "rnn", "g2p"), ("product-key",)
GROUPS = {
    "layers": [
        "reversal-gru-additive", "multi30k-de-en-transformer-macaron", "multi30k-de-en-depth-adaptive",
        "tinyshakespeare-tensorized", "gutenberg-9-adaptive-span", "gutenberg-9-product-key", "gutenberg-9-reformer",
        "trec-star", "babi-2-universal-act",
    ],
    "more": [
        "multi30k-de-en-gru-dot", "multi30k-de-en-gru-none", "multi30k-de-en-gru-self-attentive",
        "multi30k-de-en-lstm-additive", "multi30k-de-en-simple-rnn-additive", "multi30k-en-de-transformer-post-norm",
        "date-pairs-transformer-pre-norm", "duplication-reformer", "ewt-pos-star",
    ],
}  # fmt: skip


@pytest.mark.release
@pytest.mark.parametrize("group", ["layers", "more"])
def test_steps_lower_for_every_platform(group):
    names = GROUPS[group]
    assert set(names) <= set(recipes.list_recipes())
    done = python("-m", "tests.runs.readiness", *names, seconds=1800, KERAS_BACKEND="jax")
    found = {}
    for line in done.stdout.splitlines():
        found |= json.loads(line)
    assert list(found) == names
    for name, each in found.items():
        assert each["platforms"] == list(PLATFORMS) and min(each["bytes"].values()) > 1_000, name
        ratio = each["operations"] / each["xla"]
        if any(loop in name for loop in LOOPS):
            assert ratio > 1.1, (name, ratio)
        elif not any(sums in name for sums in RUNNING_SUMS):
            assert 0.9 < ratio < 1.1, (name, ratio)
