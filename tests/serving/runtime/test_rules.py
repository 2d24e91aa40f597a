"""Rules of a search, given to a `Runtime`, answer what the Keras model answers with them."""

import numpy as np
import pytest
import tensorflow as tf

from serving.kinds.rules import GRAPH_INPUTS, RULES, checked, inputs, length_bound, names
from serving.runtime import Runtime, Sampling
from tests.serving.conftest import MAX_LENGTH, TEXTS
from zoo.decoding import beam_search
from zoo.decoding.rules import DTYPES, OFF, Rules

GIVEN = [
    {"no_repeat_ngram_size": 1},
    {"repetition_penalty": 2.5, "min_length": 4},
    {"length_ratio": 0.5, "length_extra": 1},
    {"max_length": 3, "prefix": "le"},
    {"bad_words": ["le", "chat"], "no_repeat_ngram_size": 2},
]


@pytest.fixture(scope="module")
def runtime(artefacts):
    return Runtime(artefacts("generate"), threads=1)


def test_names_and_values_that_are_off_are_those_of_the_zoo():
    assert GRAPH_INPUTS == OFF.keys() - {"n_best"}  # which is an option of its own
    numbers = {name: rule for name, rule in RULES.items() if rule.kind in (int, float)}
    assert {name: rule.off for name, rule in numbers.items()} == {name: OFF[name] for name in numbers}
    assert all((DTYPES[name] == "float32") == (rule.kind is float) for name, rule in numbers.items())
    texts = inputs({"prefix": "", "bad_words": []}, lambda text: [])
    assert {name: values.tolist() for name, values in texts.items()} == {
        "forced_tokens": [[-1]],
        "bad_words": [[[-1]]],
    }


@pytest.mark.parametrize("given", GIVEN, ids=lambda given: "+".join(given))
def test_the_answers_are_those_of_the_model(runtime, models, tokenizers, given):
    source, target = tokenizers
    for text, result in zip(TEXTS, runtime.run(list(TEXTS), n_best=3, **given), strict=True):
        ids = [*source.encode([text])[0], 3]
        lengths = np.array([len(ids)], "int32")
        own = inputs(given, lambda word: target.encode([word])[0])
        rules = Rules(tf.constant(lengths), **own)
        memory = models["generate"].encode(np.array([ids], "int32"), lengths)
        found = beam_search(models["generate"], memory, MAX_LENGTH, 3, rules=rules)
        rows, counts, scores = (np.asarray(part)[0] for part in found)
        expected = [target.decode([row[:count].tolist()])[0] for row, count in zip(rows, counts, strict=True)]
        there = [text for text, score in zip(expected, scores, strict=True) if score > -1e9]
        assert [each.text for each in result.hypotheses] == there
        cut = counts[0] >= length_bound(given, MAX_LENGTH, len(ids))
        assert (f"bound of {length_bound(given, MAX_LENGTH, len(ids))} pieces" in (result.warning or "")) == cut


def test_no_rules_are_rules_that_are_off(runtime):
    off = {name: rule.off for name, rule in RULES.items()}
    assert runtime.run(list(TEXTS), n_best=3, **off) == runtime.run(list(TEXTS), n_best=3)


def test_samples_keep_to_the_rules(runtime):
    (result,) = runtime.run(["a mat"], sampling=Sampling(seed=1), n_best=5, max_length=2, prefix="ch")
    assert all(each.text.startswith("ch") and len(each.text) == 2 for each in result.hypotheses)


@pytest.mark.slow
def test_prompts_keep_to_the_rules(artefacts):
    goes_on = Runtime(artefacts("continue"), threads=1)
    for length in (MAX_LENGTH, 3 * MAX_LENGTH):
        (result,) = goes_on.run(["the cat"], sampling=Sampling(seed=2), length=length, no_repeat_ngram_size=2)
        pieces = goes_on.encode(["the cat" + result.text])[0]
        assert len(pieces) > 4
    assert "max_length" not in goes_on.options and "prefix" not in goes_on.options
    assert set(names(prompts=True)) < set(goes_on.options)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"no_repeat_ngram_size": -1}, "no_repeat_ngram_size must be a whole number from 0 to 16; received -1"),
        ({"no_repeat_ngram_size": 2.0}, "a whole number from 0 to 16; received 2.0"),
        ({"repetition_penalty": 0}, "repetition_penalty must be a number from 0.01 to 100; received 0"),
        ({"repetition_penalty": float("nan")}, "received nan"),
        ({"min_length": True}, "received True"),
        ({"bad_words": "chat"}, "bad_words must be a list of strings; received 'chat'"),
        ({"prefix": 3}, "prefix must be a string; received 3"),
    ],
)
def test_wrong_values_are_named(runtime, given, said):
    with pytest.raises(ValueError, match=said.replace(".", r"\.")):
        runtime.run(["a"], **given)
    assert checked({"length_ratio": 2}) == {"length_ratio": 2.0} and checked({"prefix": None}) == {}
