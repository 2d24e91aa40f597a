"""What a recipe asks for is built, or refused: no setting without an effect, no mix that cannot be trained."""

import dataclasses

import pytest

from tests.recipes.small import KINDS, recipe
from zoo import recipes
from zoo.recipes.effects import NEEDS, TAKEN
from zoo.recipes.recipe import DEFAULTS, FIELDS
from zoo.recipes.stored import read_stored

OTHER = {  # another value than the default, for settings whose kind does not say one
    "source_language": "de",
    "target_language": "de",
    "train_split": "a",
    "valid_split": "a",
    "test_split": "a",
    "joiner": "@@ ",
    "target_pieces": "char",
    "target_normalization": "identity",
    "source_normalization": "identity",
    "cell": "lstm",
    "block": "macaron",
    "activation": "gelu",
}
WITHOUT_EFFECT = [
    ("transformer", {"cell": "lstm"}, "cell='lstm' has no effect: it is for recipes with model = 'seq2seq'"),
    ("seq2seq", {"num_heads": 8}, "num_heads=8 has no effect: none of the layers of this model takes it"),
    ("seq2seq", {"hidden_units": 8}, "hidden_units=8 has no effect"),
    ("seq2seq", {"block": "macaron"}, "block='macaron' has no effect"),
    ("seq2seq", {"loss_chunks": 2}, "loss_chunks=2 has no effect: .*'language_model' or 'transformer'"),
    ("classifier", {"loss_chunks": 2}, "loss_chunks=2 has no effect"),
    ("language_model", {"spelling": True}, "spelling=True has no effect"),
    ("language_model", {"source_normalization": "nfkc"}, "source_normalization='nfkc' has no effect"),
    ("tagger", {"sentences": 3}, "sentences=3 has no effect: .*model = 'classifier'.*spelling"),
    ("tagger", {"beam": 8}, "beam=8 has no effect"),
    ("classifier", {"babi_task": 3}, "babi_task=3 has no effect: it is for recipes with data = 'babi' .here 'trec'"),
    ("classifier", {"context": 8}, "context=8 has no effect"),
    ("classifier", {"spelling_alone": 0.1}, "spelling_alone=0.1 has no effect: .*spelling = True .here False"),
    ("classifier", {"subword_candidates": 1, "subword_alpha": 0.7}, "subword_alpha=0.7 has no effect"),
    ("classifier", {"source_pieces": "bpe", "subword_candidates": 8}, "subword_candidates=8 has no effect"),
    ("classifier", {"row_learning_rate": 0.1}, "row_learning_rate=0.1 has no effect: .*feedforward = 'product_key'"),
    ("transformer", {"shared_vocabulary": True, "target_pieces": "char"}, "target_pieces='char' has no effect"),
    ("classifier", {"depth": "star", "attention": "lsh"}, "attention=.*'lsh'.* has no effect: depth = 'star'"),
    ("tagger", {"depth": "star", "feedforward": "chunked"}, "feedforward=.* has no effect: depth = 'star'"),
    ("tagger", {"depth": "star", "block": "macaron"}, "block='macaron' has no effect: depth = 'star'"),
    ("tagger", {"depth": "star", "hidden_units": 7}, "hidden_units=7 has no effect"),
    ("tagger", {"depth": "star", "attention": {"use_bias": False}}, "attention=.*use_bias.* has no effect"),
    ("language_model", {"attention": {"layer": "multi_linear", "max_time": 8}, "num_heads": 1}, "num_heads=1 has no"),
    ("language_model", {"feedforward": "product_key", "activation": "gelu"}, "activation='gelu' has no effect"),
    ("language_model", {"depth": {"layer": "universal", "ponder": 0.1}}, "depth.ponder=0.1 has no effect"),
    ("language_model", {"attention": {"layer": "adaptive_span", "dynamic": True, "initial_span": 3}}, "initial_span=3"),
]
TOGETHER = [
    (
        "language_model",
        {"depth": "reversible", "block": "post_norm"},
        "cannot undo the norm.*'pre_norm' or 'macaron'|\"",
    ),
    ("tagger", {"depth": "reversible", "feedforward": "product_key"}, 'feedforward.query_norm = "layer"'),
    ("language_model", {"depth": "reversible", "feedforward": "product_key"}, 'feedforward.query_norm = "layer"'),
    (
        "language_model",
        {"depth": {"layer": "reversible", "activations": "checkpoint"}, "feedforward": "product_key"},
        "layer",
    ),
    ("transformer", {"depth": "depth_adaptive", "attention": "lsh"}, 'attention = "multi_head" or "adaptive_span"'),
    ("tagger", {"block": "macaron", "hidden_units": 13}, "an even hidden_units; received .*hidden_units=13"),
    ("classifier", {"attention": "adaptive_span"}, "must be one of multi_head, lsh, .* reads in both directions"),
    ("tagger", {"units": 6, "num_heads": 4}, "units that num_heads divides evenly; received units=6, num_heads=4"),
    ("tagger", {"attention": {"layer": "lsh", "num_buckets": 3}}, "attention.num_buckets must be an even whole number"),
    ("tagger", {"attention": {"layer": "lsh", "rounds": 0}}, "attention.rounds must be a whole number of at least 1"),
    ("tagger", {"feedforward": {"layer": "chunked", "chunks": 0}}, "feedforward.chunks must be a whole number"),
    ("tagger", {"feedforward": {"layer": "product_key", "num_keys": 2, "k": 5}}, "k of at most num_keys.2"),
    ("tagger", {"depth": {"layer": "universal", "halting": "never"}}, "depth.halting must be one of none, accumulated"),
    (
        "tagger",
        {"num_layers": 2, "depth": "universal", "attention": {"layer": "lsh", "blocks": [2]}},
        "from 1 to 1, for a",
    ),
    ("tagger", {"attention": {"layer": "lsh", "blocks": []}}, "attention.blocks must list numbers from 1 to"),
    ("language_model", {"positions": {"layer": "learned", "max_positions": 3}}, "no fewer than the texts are long"),
    ("language_model", {"attention": {"layer": "multi_linear", "max_time": 3}}, "no shorter than the texts"),
    ("language_model", {"positions": "axial", "units": 5, "num_heads": 1}, "even units"),
    ("tagger", {"dropout": 1.0}, "dropout must be a number of at least 0 and below 1"),
    ("tagger", {"num_layers": 0}, "num_layers must be a whole number of at least 1"),
    ("seq2seq", {"shortest": 9}, "shortest must be at most longest; received 9 and 5"),
]


@pytest.mark.parametrize(("model", "changes", "message"), WITHOUT_EFFECT + TOGETHER)
def test_what_cannot_be_built_is_refused(model, changes, message):
    with pytest.raises(ValueError, match=message):
        recipe(model, **changes)


@pytest.mark.parametrize("name", [*NEEDS, *TAKEN])
def test_each_setting_of_the_table_is_refused_by_some_model_and_taken_by_another(name):
    """No line of the table is dead: neither one that never refuses, nor one that always does."""
    kind, default = FIELDS[name].type, DEFAULTS[name]
    value = OTHER.get(name, {bool: True, int: 12, float: 0.5}.get(kind))
    assert value != default
    extra = {"subword_rare": {"subword_candidates": 3}, "subword_alpha": {"subword_candidates": 3}}
    extra |= {"spelling_alone": {"spelling": True}, "row_learning_rate": {"feedforward": "product_key"}}
    verdicts = []
    for model, others in [(model, others) for model in KINDS for others in ({}, extra.get(name, {}))]:
        try:
            recipe(model, **{name: value} | others)
            verdicts.append(True)
        except ValueError as error:
            verdicts.append(f"{name}={value!r} has no effect" not in str(error))
    corpora = {"train_split", "valid_split", "test_split", "phrases", "target_normalization"}
    assert False in verdicts and (True in verdicts or name in corpora)


def test_what_loses_its_use_falls_away_with_what_it_was_for(tmp_path):
    """A file that extends another, or an override, need not take back every number of what it replaces."""
    star = recipes.load("trec-transformer-pre-norm", ["depth=star"])
    assert star.hidden_units == DEFAULTS["hidden_units"] and star.num_heads == 4
    (tmp_path / "mine.toml").write_text('extends = "trec-transformer-pre-norm"\ndepth = "star"\nhidden_units = 300\n')
    with pytest.raises(ValueError, match="hidden_units=300 has no effect"):
        recipes.load(tmp_path / "mine.toml")
    with pytest.raises(ValueError, match="hidden_units=300 has no effect"):
        recipes.load("trec-transformer-pre-norm", ["depth=star", "hidden_units=300"])
    with pytest.raises(ValueError, match="block='post_norm' has no effect"):  # a layer that is named is asked for
        recipes.load("trec-transformer-post-norm", ["depth=star"])


def test_a_file_is_not_forgiven_what_it_says_in_vain_because_an_override_follows(tmp_path):
    (tmp_path / "mine.toml").write_text(
        recipes.dumps(recipe()).replace('cell = "gru"', 'cell = "gru"\nnum_heads = 9').replace("num_heads = 4\n", "")
    )
    with pytest.raises(ValueError, match="num_heads=9 has no effect"):
        recipes.load(tmp_path / "mine.toml", ["steps=6"])


def test_run_folders_of_earlier_versions_load(tmp_path):
    """They spell out settings that had no effect then either; what was trained is what is read."""
    path, star = tmp_path / "recipe.toml", recipe("classifier", depth="star")
    text = recipes.dumps(star).replace("hidden_units = 512", "hidden_units = 256").replace("beam = 4", "beam = 1")
    text = text.replace('block = "pre_norm"', 'block = "macaron"').replace(
        'attention = "multi_head"', 'attention = "lsh"'
    )
    path.write_text(text)
    assert read_stored(path) == star
    with pytest.raises(ValueError, match="has no effect"):
        recipes.load(path)
    odd = recipes.dumps(recipe("tagger", block="macaron", hidden_units=12)).replace("units = 12", "units = 13")
    path.write_text(odd)
    assert read_stored(path).hidden_units == 12  # two halves of 6 were built
    path.write_text(recipes.dumps(recipe("tagger")) + '[depth]\nlayer = "universal"\nponder = 0.5\n')
    path.write_text(path.read_text().replace('depth = "stack"\n', ""))
    assert read_stored(path).depth == {"layer": "universal"}


@pytest.mark.parametrize("name", recipes.names())
def test_what_a_run_spells_out_is_what_it_loads(name, tmp_path):
    one = recipes.load(name)
    (tmp_path / "recipe.toml").write_text(recipes.dumps(one))
    assert recipes.load(tmp_path / "recipe.toml") == read_stored(tmp_path / "recipe.toml") == one
    assert dataclasses.replace(one, steps=one.steps + 1).steps == one.steps + 1
