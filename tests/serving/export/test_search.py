"""The search of a recipe in every form: rankings and fixed rules in Keras, SavedModel and ONNX."""

from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf

from serving.export import Settings
from serving.export.kinds import kind_of
from serving.export.onnx.convert import convert, load
from serving.export.runs import settings_of as settings_of_run
from serving.export.shortlist import Shortlist
from tests.serving.conftest import MAX_LENGTH, settings_of
from zoo.core.searching import Fixed, Ranking
from zoo.decoding import beam_search, greedy
from zoo.decoding.rules import Rules
from zoo.settings.training import Search
from zoo.tasks import TASKS
from zoo.tasks.parts.answering import Searcher

IDS, LENGTHS = np.array([[5, 9, 7, 3], [4, 8, 3, 0], [6, 3, 0, 0]], "int32"), np.array([4, 3, 2], "int32")
TABLE = {
    "penalty": "length",
    "ends": "first",
    "longest": "end",
    "stop": "likely",
    "forced_tokens": [9],
    "barred_tokens": [0, 2, 5],
    "bad_words": [[7], [6, 8]],
    "renormalize": True,
}
NUMBERS = {"no_repeat_ngram_size": 2, "repetition_penalty": 1.3, "min_length": 3}
RANKING, FIXED = Ranking("length", "first", "end", "likely"), Fixed((9,), (0, 2, 5), ((7,), (6, 8)), True)


def expected(model, beams, **rules):
    rules = Rules(tf.constant(LENGTHS), fixed=FIXED, **rules)
    memory = model.encode(IDS, LENGTHS)
    if beams == 1:
        return greedy(model, memory, MAX_LENGTH, rules=rules)
    return beam_search(model, memory, MAX_LENGTH, beams, 0.6, rules=rules, ranking=RANKING)


def same(found, wanted):
    ids, lengths, scores = map(np.asarray, wanted)
    np.testing.assert_array_equal(found["output_ids"], ids)
    np.testing.assert_array_equal(found["output_lengths"], lengths)
    np.testing.assert_allclose(found["scores"], scores, atol=1e-4)


def asked(exported, **given):
    graph = convert(exported.function, exported.signature)
    session = load(graph)
    found = session.run(None, {"token_ids": IDS, "lengths": LENGTHS, **given})
    return dict(zip([node.name for node in session.get_outputs()], found, strict=True))


@pytest.fixture(scope="module")
def functions(models, tokenizers):
    """With a shortlist of every id, over which the search is the whole one."""
    everyone = Shortlist(np.full((tokenizers[0].vocab_size, 1), 3, "int32"), np.arange(4, tokenizers[1].vocab_size))
    settings = settings_of("generate", search=TABLE, rules=NUMBERS, shortlist=everyone)
    return kind_of(models["generate"], settings).functions


def test_the_saved_model_searches_as_the_recipe_says(models, functions):
    found = functions["tokens"].traced(tf.constant(IDS), tf.constant(LENGTHS))
    same(found, expected(models["generate"], 3, **NUMBERS))
    plain = beam_search(models["generate"], models["generate"].encode(IDS, LENGTHS), MAX_LENGTH, 3)
    assert not np.array_equal(plain[0], found["output_ids"])


@pytest.mark.parametrize(
    "name", ["greedy", *(pytest.param(name, marks=pytest.mark.slow) for name in ("tokens", "tokens_shortlist"))]
)
def test_a_graph_searches_as_the_recipe_says(models, functions, name):
    same(asked(functions[name]), expected(models["generate"], 1 if name == "greedy" else 3, **NUMBERS))


@pytest.mark.slow
def test_a_graph_searches_as_marian(models):
    """Each end narrows the beam, and sources of two pieces cut off their outputs."""
    table = {"penalty": "length", "ends": "places", "longest": "count", "stop": "full"}
    settings, model = settings_of("generate", search=table, rules={"length_ratio": 1.5}), models["generate"]
    rules = Rules(tf.constant(LENGTHS), length_ratio=1.5)
    wanted = beam_search(model, model.encode(IDS, LENGTHS), MAX_LENGTH, 3, 0.6, rules=rules, ranking=Ranking(**table))
    assert (np.asarray(wanted[1])[2] == 3).any() and np.asarray(wanted[1]).max() > 3
    same(asked(kind_of(model, settings).functions["tokens"]), wanted)


@pytest.mark.slow
def test_rules_that_are_given_take_the_place_of_numbers_and_join_what_is_fixed(models, functions):
    given = {"no_repeat_ngram_size": np.array([0], "int32"), "repetition_penalty": np.array([1], "float32")}
    given |= {"min_length": np.array([5], "int32"), "bad_words": np.array([[[4]]], "int32")}
    given["forced_tokens"] = np.array([[10]], "int32")
    found = asked(functions["tokens"], **given)
    same(found, expected(models["generate"], 3, **given))
    assert (found["output_ids"][:, 0, :2] == [9, 10]).all()


def test_keras_searches_as_the_recipe_says(models):
    search = Search(**TABLE, **NUMBERS, coverage_penalty=0.3)
    for beams, ranks in ((1, {}), (3, {"coverage_penalty": 0.3})):  # one beam ranks nothing
        found = Searcher(models["generate"], beams, 0.6, MAX_LENGTH, search)((tf.constant(IDS), tf.constant(LENGTHS)))
        wanted = [part[:, 0] for part in expected(models["generate"], beams, **NUMBERS, **ranks)]
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-4)


def test_an_export_takes_the_search_of_its_recipe():
    search = Search(**TABLE, **NUMBERS, length_ratio=1.5)
    recipe = SimpleNamespace(task="translate", job=TASKS["translate"], search=search, name="one", title="")
    run = SimpleNamespace(recipe=recipe, model=None, labels=(), threshold=None, directory=None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("serving.export.runs.dumps", lambda recipe: "")
        patch.setattr("serving.export.runs.examples", lambda run: ())
        settings = settings_of_run(run, {"rules": {"min_length": 0}})
        assert settings.search == TABLE and (settings.ranking, settings.fixed) == (RANKING, FIXED)
        assert settings.rules == NUMBERS | {"length_ratio": 1.5, "min_length": 0}
        recipe.search = Search(coverage_penalty=0.3)
        assert settings_of_run(run, {}).rules == {"coverage_penalty": 0.3}
        assert settings_of_run(run, {"beams": (1,)}).rules == {}  # which ranks nothing
        recipe.search = Search()
        assert settings_of_run(run, {}).search == {} and settings_of_run(run, {}).rules == {}


@pytest.mark.parametrize(("context", "read", "written"), [(256, 196, 60), (64, 32, 32), (2, 2, 1)])
def test_what_a_language_model_reads_and_writes_fits_into_the_context_of_its_training(context, read, written):
    """Beyond it the published Transformer of Shakespeare goes from 1.8 to 3.4 nats per character."""
    data, job = SimpleNamespace(windows=True), TASKS["continue"]
    recipe = SimpleNamespace(task="continue", job=job, search=Search(max_output_length=60), name="one", title="")
    recipe.data, recipe.model = data, SimpleNamespace(context=context)
    model = SimpleNamespace(longest_text=None, longest_prompt=None)
    run = SimpleNamespace(recipe=recipe, model=model, labels=(), threshold=None, directory=None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("serving.export.runs.dumps", lambda recipe: "")
        patch.setattr("serving.export.runs.examples", lambda run: ())
        settings = settings_of_run(run, {})
        assert (settings.max_input, settings.max_length) == (read, written)
        assert settings_of_run(run, {"max_input": 1000}).max_input == 1000
        data.windows = False  # of prompts and their answers no context is the longest
        assert (settings_of_run(run, {}).max_input, settings_of_run(run, {}).max_length) == (None, 60)
        data.windows, model.longest_text, model.longest_prompt = True, 40, 20  # learned positions bound a text
        assert (settings_of_run(run, {}).max_input, settings_of_run(run, {}).max_length) == (None, 20)


def test_what_is_wrong_is_told_by_name():
    with pytest.raises(ValueError, match="longest must be one of behind, count, end. Received: 'gone'"):
        Settings("one", "", search={"longest": "gone"})
    with pytest.raises(ValueError, match=r"have no id in common; both have \[4\]"):
        Search(forced_tokens=[4], barred_tokens=[4])
