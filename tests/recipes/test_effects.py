"""What a recipe asks for is built, or refused: no setting without an effect, no mix that cannot be trained."""

import pytest

from tests.recipes.small import recipe
from zoo import recipes
from zoo.recipes.files import read_stored

SPANS = {"layer": "adaptive_span", "dynamic": True, "initial_span": 3}
WITHOUT_EFFECT = [
    (
        "transformer",
        {"model": {"cell": "lstm"}},
        "has no setting 'cell'. It is one of model = 'recurrent'. It takes un",
    ),
    ("seq2seq", {"model": {"num_heads": 8}}, "has no setting 'num_heads'. It is one of model = 'transformer'."),
    ("seq2seq", {"model": {"hidden_units": 8}}, "has no setting 'hidden_units'. It is one of model = 'transformer'"),
    ("seq2seq", {"block": "macaron"}, "has no place in this recipe"),
    ("seq2seq", {"loss": {"chunks": 2}}, "loss = 'cross_entropy' has no setting 'chunks'. It takes label_smoothing"),
    ("classifier", {"loss": {"chunks": 2}}, "loss = 'cross_entropy' has no setting 'chunks'"),
    ("seq2seq", {"embedding": "spelled"}, r"\[embedding\] has no place in this recipe: its model has data, te"),
    ("language_model", {"embedding": "spelled"}, "embedding must be one of tokens; received 'spelled'"),
    ("language_model", {"text": {"normalization": "nfkc"}}, "text has no setting 'normalization'. It takes vocab_size"),
    (
        "tagger",
        {"embedding": "sentences"},
        "embedding must be one of tokens, spelled; received 'sentences'. The reason: sentences gives one vector",
    ),
    ("language_model", {"embedding": "sentences"}, "embedding must be one of tokens; received 'sentences'"),
    (
        "stories",
        {"embedding": {"layer": "spelled", "shortest": 2}},
        "embedding = 'spelled' has no setting 'shortest'. .*It takes buckets, alone",
    ),
    ("seq2seq", {"text": {"max_input_length": 9}}, "text has no setting 'max_input_length'"),
    ("transformer", {"text": {"max_input_length": 9}}, "text has no setting 'max_input_length'"),
    ("language_model", {"text": {"max_input_length": 9}}, "text has no setting 'max_input_length'"),
    ("classifier", {"training": {"monitor": "wer"}}, "monitor='wer' has no effect: .*does not search. Leave it out"),
    ("classifier", {"training": {"monitor": "entity_f1"}}, "monitor='entity_f1' has no effect: .*does not tag. Leave"),
    (
        "tagger",
        {"search": {"beam": 8}},
        r"\[search\] has no place in this recipe: its model has data, text,",
    ),
    ("language_model", {"search": {"beam": 8}}, "search has no setting 'beam'. It takes alpha, max_output_length"),
    ("classifier", {"data": {"number": 3}}, "data = 'trec' has no setting 'number'. It is one of data = 'babi'"),
    (
        "seq2seq",
        {"model": {"decoder_layers": 1}},
        "has no setting 'decoder_layers'. It is one of model = 'transformer'",
    ),
    ("language_model", {"model": {"decoder_layers": 2}}, "decoder_layers=2 has no effect: only a model that reads one"),
    ("classifier", {"model": {"context": 8}}, "model.context=8 has no effect: none of the layers of this model takes"),
    (
        "classifier",
        {"embedding": {"alone": 0.1}},
        "'tokens' has no setting 'alone'. It is one of embedding = 'spelled'",
    ),
    (
        "classifier",
        {"text": {"noise": {"candidates": 1, "alpha": 0.7}}},
        "text.noise.alpha=0.7 has no effect: it is re",
    ),
    (
        "classifier",
        {"text": {"pieces": "bpe", "noise": {"candidates": 8}}},
        "text.noise.candidates=8 has no effect: .*e",
    ),
    ("classifier", {"text": {"pieces": "bpe", "noise": {"rare": 8}}}, "text.noise.rare=8 has no effect"),
    ("classifier", {"training": {"row_learning_rate": 0.1}}, "row_learning_rate=0.1 has no effect: .*'?product_key"),
    (
        "language_model",
        {"training": {"max_length": 8}},
        "training.max_length=8 has no effect: a running text is cut in",
    ),
    ("language_model", {"training": {"num_buckets": 8}}, "training.num_buckets=8 has no effect: a running text is cut"),
    (
        "transformer",
        {"text": {"target": {"pieces": "char"}}},
        "text.target={.*'pieces': 'char'.*} has no effect: source",
    ),
    ("classifier", {"depth": "star", "attention": "lsh"}, "attention='lsh' has no effect: depth = 'star'"),
    ("tagger", {"depth": "star", "feedforward": "chunked"}, "feedforward='chunked' has no effect: depth = 'star'"),
    ("tagger", {"depth": "star", "block": "macaron"}, "block='macaron' has no effect: depth = 'star'"),
    ("tagger", {"depth": "star", "model": {"hidden_units": 7}}, "model.hidden_units=7 has no effect"),
    ("tagger", {"depth": "star", "attention": {"use_bias": False}}, "attention={.*'use_bias': False} has no effect"),
    (
        "language_model",
        {"attention": {"layer": "multi_linear", "max_time": 8}, "model": {"num_heads": 1}},
        "model.num_heads=1 has no effect: none of the layers .*attention = 'multi_linear'",
    ),
    (
        "language_model",
        {"feedforward": "product_key", "model": {"activation": "gelu"}},
        "model.activation='gelu' has no",
    ),
    (
        "language_model",
        {"depth": {"layer": "universal", "ponder": 0.1}},
        "depth.ponder=0.1 has no effect: .*halting='n",
    ),
    ("language_model", {"attention": SPANS}, "attention.initial_span=3 has no effect: it is read where dynamic is Fal"),
    (
        "transformer",
        {"depth": {"layer": "depth_adaptive", "exit": "last"}, "loss": {"price": 0.3}},
        "loss.price=0.3 has",
    ),
]
TOGETHER = [
    (
        "language_model",
        {"depth": "reversible", "block": "post_norm"},
        'cannot undo the norm.* Expected block = "pre_norm" or "macaron", or .*received .*block=\'post_norm\'',
    ),
    ("tagger", {"depth": "reversible", "feedforward": "product_key"}, 'feedforward.query_norm = "layer"'),
    ("language_model", {"depth": "reversible", "feedforward": "product_key"}, 'feedforward.query_norm = "layer"'),
    (
        "language_model",
        {"depth": {"layer": "reversible", "activations": "checkpoint"}, "feedforward": "product_key"},
        "layer",
    ),
    (
        "transformer",
        {"depth": "depth_adaptive", "attention": "lsh"},
        'attention = "multi_head", "adaptive_span", "relative" or "ssru"',
    ),
    (
        "transformer",
        {"loss": "depth_adaptive"},
        'counts all its depths.* Expected loss.kind = "depth_adaptive" with depth = "depth_adaptive", or neither',
    ),
    ("tagger", {"block": "macaron", "model": {"hidden_units": 13}}, "an even hidden_units; received .*hidden_units=13"),
    ("classifier", {"attention": "adaptive_span"}, "must be one of multi_head, lsh, .* reads in both directions"),
    ("classifier", {"depth": "depth_adaptive"}, "depth must be one of .* its exits belong to the decoder"),
    ("language_model", {"depth": "star"}, "depth must be one of .* so it can read and not write"),
    (
        "tagger",
        {"model": {"units": 6, "num_heads": 4}},
        "units that num_heads divides evenly, or head_units; received units=6, num_he",
    ),
    ("tagger", {"attention": {"layer": "lsh", "num_buckets": 3}}, "attention.num_buckets must be an even whole number"),
    ("tagger", {"attention": {"layer": "lsh", "num_buckets": []}}, "attention: num_buckets must be an even whole numb"),
    ("tagger", {"attention": {"layer": "lsh", "num_buckets": [2048, 2048]}}, "whose product is at most 1048576"),
    ("tagger", {"attention": {"layer": "lsh", "rounds": 0}}, "attention.rounds must be a whole number of at least 1"),
    ("tagger", {"feedforward": {"layer": "chunked", "chunks": 0}}, "feedforward.chunks must be a whole number"),
    ("tagger", {"feedforward": {"layer": "product_key", "num_keys": 2, "k": 5}}, "num_keys.2; .* k=5 and num_keys=2"),
    (
        "tagger",
        {"depth": {"layer": "universal", "halting": "never"}},
        "depth.halting must be one of accumulated, inter",
    ),
    (
        "language_model",
        {"attention": {"layer": "adaptive_span", "max_span": 3, "window": 4}},
        "window .*at most max_sp",
    ),
    (
        "classifier",
        {"positions": {"layer": "convolutional", "width": 4}},
        "width must be an odd whole number; received 4",
    ),
    (
        "tagger",
        {"model": {"num_layers": 2}, "depth": "universal", "attention": {"layer": "lsh", "blocks": [2]}},
        "from 1 to 1, for a universal stack has one block",
    ),
    ("tagger", {"attention": {"layer": "lsh", "blocks": []}}, "attention.blocks must list numbers from 1 to"),
    ("language_model", {"positions": {"layer": "learned", "max_positions": 3}}, "no fewer than the texts are long"),
    ("language_model", {"attention": {"layer": "multi_linear", "max_time": 3}}, "no shorter than the texts"),
    ("completions", {"positions": "learned", "model": {"context": 8}}, "no fewer than the texts are long"),
    ("language_model", {"positions": "axial", "model": {"units": 5, "num_heads": 1}}, "even units"),
    ("tagger", {"model": {"dropout": 1.0}}, "model.dropout must be a number of at least 0 and below 1; received 1.0"),
    ("tagger", {"model": {"num_layers": 0}}, "model.num_layers must be a whole number of at least 1"),
    ("seq2seq", {"data": {"shortest": 9}}, "shortest must be at most longest; received 9 and 5"),
    ("seq2seq", {"training": {"schedule": "linear", "warmup": 4}}, "needs more steps .*received steps=4 and warmup=4"),
    (
        "seq2seq",
        {"training": {"parts": 3}},
        "batch_size must be a multiple of parts; received batch_size=8 and parts=3",
    ),
]


@pytest.mark.parametrize(("model", "changes", "message"), WITHOUT_EFFECT + TOGETHER)
def test_what_cannot_be_built_is_refused(model, changes, message):
    with pytest.raises(ValueError, match=message) as told:
        recipe(model, **changes)
    assert str(told.value).startswith("recipe 'small': "), "the message names the recipe"


def test_what_loses_its_use_falls_away_with_what_it_was_for(tmp_path):
    """A file that extends another, or an override, need not take back every number of what it replaces."""
    usual = recipes.load("trec-transformer-pre-norm", ["depth=star"])
    assert usual.model.hidden_units == 512 and usual.model.num_heads == 4
    (tmp_path / "mine.toml").write_text(
        'extends = "trec-transformer-pre-norm"\ndepth = "star"\n[model]\nhidden_units = 300\n'
    )
    with pytest.raises(ValueError, match="hidden_units=300 has no effect"):
        recipes.load(tmp_path / "mine.toml")
    with pytest.raises(ValueError, match="hidden_units=300 has no effect"):
        recipes.load("trec-transformer-pre-norm", ["depth=star", "model.hidden_units=300"])
    with pytest.raises(ValueError, match="block='post_norm' has no effect"):  # a layer that is named is asked for
        recipes.load("trec-transformer-post-norm", ["depth=star"])


def test_a_setting_that_was_given_in_vain_is_still_refused_there(tmp_path):
    """A base that is wrong by itself is not forgiven by what a later file says of other things."""
    (tmp_path / "base.toml").write_text(recipes.dumps(recipe()).replace("[model]\n", "[model]\nnum_heads = 9\n"))
    (tmp_path / "more.toml").write_text('extends = "base"\n[training]\nsteps = 6\n')
    with pytest.raises(ValueError, match="has no setting 'num_heads'"):
        recipes.load(tmp_path / "more.toml")
    with pytest.raises(ValueError, match="has no setting 'num_heads'"):
        recipes.load(tmp_path / "base.toml", ["training.steps=6"])


@pytest.mark.parametrize(
    ("model", "override", "gone"),
    [
        ("tagger", "text.noise.candidates=1", lambda one: one.text.noise.rare == 0),
        ("tagger", "text.pieces=bpe", lambda one: one.text.noise.candidates == 1 and one.text.noise.dropout == 0.1),
        ("tagger", "embedding=tokens", lambda one: one.embedding.layer == "tokens"),
        ("seq2seq", "text.shared=true", lambda one: one.text.target is None),
        ("seq2seq", "data=dates", lambda one: one.data.train_size == 60),
        ("reformer", "attention=multi_head", lambda one: one.attention.layer == "multi_head"),
        ("language_model", "depth=universal", lambda one: one.model.num_layers == 1),
        ("stories", "data=trec", lambda one: one.data.corpus == "trec"),
        ("stories", "embedding=spelled", lambda one: one.embedding.alone == 0.0),
        ("completions", "data=text", lambda one: one.training.num_buckets == 4),
    ],
)
def test_what_an_override_leaves_no_use_falls_away(model, override, gone):
    assert gone(recipe(model, override))


def test_another_kind_of_model_or_task_begins_with_what_still_has_a_place():
    found = recipe("transformer", "model=recurrent", "attention=dot")
    assert (found.model.units, found.feedforward, found.search.beam) == (4, None, 2)
    found = recipe("tagger", "task=classify", "data=trec")
    assert (found.task, found.text.noise.rare, found.embedding.alone) == ("classify", 9, 0.2)
    found = recipe("language_model", "task=classify", "data=trec")
    assert found.search is None and found.text.pieces == "char"


def test_a_file_is_not_forgiven_what_it_says_in_vain_because_an_override_follows(tmp_path):
    text = recipes.dumps(recipe("tagger", depth="star"))
    (tmp_path / "mine.toml").write_text(text.replace("hidden_units = 512", "hidden_units = 9"))
    with pytest.raises(ValueError, match="hidden_units=9 has no effect"):
        recipes.load(tmp_path / "mine.toml", ["training.steps=6"])


@pytest.mark.parametrize("name", recipes.list_recipes())
def test_what_a_run_spells_out_is_what_it_loads(name, tmp_path):
    one = recipes.load(name)
    (tmp_path / "recipe.toml").write_text(recipes.dumps(one))
    assert recipes.load(tmp_path / "recipe.toml") == read_stored(tmp_path / "recipe.toml") == one
    assert recipes.load(tmp_path / "recipe.toml", [f"training.steps={one.training.steps + 1}"]) != one
