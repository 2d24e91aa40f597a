"""Recipes from before there were tables: each of their 72 settings is found under the name that it has today.

The files in `tests/files_written_before/recipes` are of commit 4c04f1d: recipes of its catalogue, and in `runs` what
its run folders held, in which every setting is spelt out.
"""

from functools import reduce

import pytest

from tests.house_rules import ROOT
from tests.recipes.small import recipe
from zoo import recipes
from zoo.recipes import flat
from zoo.recipes.files import parse, read_stored
from zoo.recipes.recipe import plain

BEFORE = ROOT / "tests" / "files_written_before" / "recipes"
ABOUT = {"name": "old", "system": "s", "task": "some words", "description": "d"}
BASES = {
    "seq2seq": {"data": "reversal"},
    "transformer": {"data": "dates", "model": "transformer"},
    "language_model": {"data": "text", "model": "language_model"},
    "duplication": {"data": "duplication", "model": "language_model"},
    "classifier": {"data": "trec", "model": "classifier"},
    "reviews": {"data": "sst", "model": "classifier"},
    "stories": {"data": "babi", "model": "classifier"},
    "tagger": {"data": "tagged", "model": "tagger"},
    "parallel": {"data": "parallel", "source_language": "de", "target_language": "en"},
    "drawn": {"data": "trec", "model": "classifier", "subword_candidates": 4},
    "spelled": {"data": "trec", "model": "classifier", "spelling": True},
    "memory": {"data": "text", "model": "language_model", "feedforward": "product_key"},
}


def kept(table, base, **values):
    """Rows of settings that have their name and value today, too, in this table."""
    return [(name, base, value, f"{table}.{name}", value) for name, value in values.items()]


SETTINGS = [  # (setting, a recipe in which it has an effect, a value, its place today, what stands there)
    ("name", "seq2seq", "other", "name", "other"),
    ("system", "seq2seq", "other", "system", "other"),
    ("task", "seq2seq", "reversal", "task", "translate"),
    ("description", "seq2seq", "other", "description", "other"),
    ("data", "seq2seq", "dates", "data.corpus", "dates"),
    *kept("data", "parallel", source_language="fr", target_language="fr", train_split="other"),
    ("valid_split", "tagger", "other", "data.valid_split", "other"),
    ("test_split", "parallel", "other", "data.test_split", "other"),
    ("train_size", "seq2seq", 7, "data.train_size", 7),
    ("valid_size", "transformer", 7, "data.valid_size", 7),
    ("test_size", "duplication", 7, "data.test_size", 7),
    ("shortest", "seq2seq", 7, "data.shortest", 7),
    ("longest", "duplication", 7, "data.longest", 7),
    ("babi_task", "stories", 7, "data.number", 7),
    ("phrases", "reviews", True, "data.phrases", True),
    ("source_vocab_size", "classifier", 77, "text.vocab_size", 77),
    ("target_vocab_size", "seq2seq", 77, "text.target.vocab_size", 77),
    ("source_pieces", "seq2seq", "char", "text.pieces", "char"),
    ("target_pieces", "seq2seq", "char", "text.target.pieces", "char"),
    ("source_normalization", "tagger", "nfkc", "text.normalization", "nfkc"),
    ("target_normalization", "seq2seq", "nfkc", "text.target.normalization", "nfkc"),
    ("character_coverage", "language_model", 0.7, "text.character_coverage", 0.7),
    ("byte_fallback", "classifier", True, "text.byte_fallback", True),
    ("shared_vocabulary", "transformer", True, "text.shared", True),
    ("joiner", "seq2seq", "@@ ", "text.joiner", "@@ "),
    ("subword_candidates", "tagger", 7, "text.noise.candidates", 7),
    ("subword_rare", "drawn", 7, "text.noise.rare", 7),
    ("subword_alpha", "drawn", 0.7, "text.noise.alpha", 0.7),
    ("token_dropout", "classifier", 0.7, "text.noise.dropout", 0.7),
    ("spelling", "tagger", True, "embedding.layer", "spelled"),
    ("spelling_alone", "spelled", 0.7, "embedding.alone", 0.7),
    ("max_input_length", "tagger", 77, "text.max_input_length", 77),
    ("sentences", "stories", 7, "embedding", {"layer": "sentences", "shortest": 7, "spread": 1.0}),
    ("model", "seq2seq", "transformer", "model.kind", "transformer"),
    ("units", "seq2seq", 8, "model.units", 8),
    ("num_layers", "tagger", 7, "model.num_layers", 7),
    ("dropout", "transformer", 0.7, "model.dropout", 0.7),
    ("cell", "seq2seq", "lstm", "model.cell", "lstm"),
    ("attention", "seq2seq", "dot", "attention.layer", "dot"),
    ("feedforward", "tagger", {"layer": "chunked", "chunks": 7}, "feedforward", {"layer": "chunked", "chunks": 7}),
    ("depth", "classifier", "star", "depth.layer", "star"),
    ("positions", "tagger", "concatenated", "positions.layer", "concatenated"),
    ("block", "tagger", "macaron", "block.layer", "macaron"),
    *kept("model", "tagger", num_heads=8, hidden_units=77, activation="gelu"),
    ("context", "language_model", 77, "model.context", 77),
    *kept(
        "training",
        "tagger",
        batch_size=7,
        num_buckets=7,
        max_length=77,
        learning_rate=0.7,
        schedule="cosine",
        warmup=7,
        adam_beta_2=0.7,
    ),
    ("row_learning_rate", "memory", 0.7, "training.row_learning_rate", 0.7),
    *kept("training", "tagger", weight_decay=0.7, clip_norm=0.7),
    ("label_smoothing", "tagger", 0.7, "loss.label_smoothing", 0.7),
    ("loss_chunks", "language_model", 7, "loss.chunks", 7),
    *kept(
        "training",
        "tagger",
        steps=77,
        validate_every=7,
        checkpoint_every=7,
        patience=7,
        average=7,
        monitor="accuracy",
        log_every=7,
        seed=7,
    ),
    ("beam", "seq2seq", 7, "search.beam", 7),
    *kept("search", "language_model", alpha=0.7, max_output_length=7),
]
DEEP = {"data": "dates", "model": "transformer", "num_layers": 2}
FORMER = [  # names that were former ones then, and what moved from the depth to the loss
    ("tagger", {"judge": "accuracy"}, "training.monitor", "accuracy"),
    (DEEP, {"depth": {"layer": "depth_adaptive", "judge": "correctness"}}, "loss.oracle", "correctness"),
    (DEEP, {"depth": {"layer": "depth_adaptive", "oracle": "correctness"}}, "loss.oracle", "correctness"),
    (DEEP, {"depth": {"layer": "depth_adaptive", "price": 0.7}}, "loss.price", 0.7),
    (DEEP, {"depth": {"layer": "depth_adaptive", "width": 0.7}}, "loss.width", 0.7),
    (DEEP, {"depth": {"layer": "depth_adaptive", "alpha": 0.7}}, "loss.alpha", 0.7),
    (DEEP, {"depth": {"layer": "depth_adaptive", "alpha": 0.7}}, "loss.kind", "depth_adaptive"),
    (DEEP, {"depth": {"layer": "depth_adaptive", "paths": 3, "exit": "last"}}, "depth.paths", 3),
    ("tagger", {"depth": {"layer": "reversible", "memory": "plain"}}, "depth.activations", "plain"),
]


def old(base, **changes):
    return ABOUT | (BASES[base] if isinstance(base, str) else base) | changes


def at(one, place):
    return reduce(lambda table, name: table[name], place.split("."), plain(one))


def test_there_were_72():
    stored = (BEFORE / "runs" / "tagger.toml").read_text(encoding="utf-8")
    assert [row[0] for row in SETTINGS] == [line.split(" = ")[0] for line in stored.splitlines()]


@pytest.mark.parametrize(("key", "base", "value", "place", "expected"), SETTINGS, ids=[row[0] for row in SETTINGS])
def test_each_setting_has_its_place(key, base, value, place, expected):
    found = recipes.make(old(base, **{key: value}))
    assert at(found, place) == expected
    if key not in ("task", "data", "model"):
        usual = plain(recipes.make(old(base)))
        assert plain(found) != usual, "the value is not what it was without the setting"


@pytest.mark.parametrize(("base", "changes", "place", "expected"), FORMER)
def test_names_that_were_former_ones_then(base, changes, place, expected):
    assert at(recipes.make(old(base, **changes)), place) == expected


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"judge": "nll", "monitor": "nll"}, "judge is the former name of monitor, and both are given"),
        ({"depth": {"layer": "depth_adaptive", "judge": "likelihood", "oracle": "likelihood"}}, "depth.judge is the"),
        ({"depth": {"layer": "reversible", "memory": "plain", "activations": "plain"}}, "depth.memory is the former"),
        ({"model": "recurent"}, "model must be one of seq2seq, transformer, .*received 'recurent'"),
        ({"unit": 3}, "unknown setting 'unit'. Did you mean 'units'"),
    ],
)
def test_wrong_flat_recipes_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        recipes.make(old(DEEP, **changes))


@pytest.mark.parametrize("path", sorted(BEFORE.glob("*.toml")), ids=lambda path: path.stem)
def test_recipes_of_the_catalogue_are_what_they_were(path):
    assert recipes.load(path) == recipes.load(path.stem)


@pytest.mark.parametrize("name", ["trec-star", "multi30k-de-en-depth-adaptive"])
def test_run_folders_are_what_the_catalogue_says(name):
    """They spell out every default of then, so these were those of today."""
    assert read_stored(BEFORE / "runs" / f"{name}.toml") == recipes.load(name)


def test_a_run_folder_of_a_tagger_is_what_it_was():
    assert read_stored(BEFORE / "runs" / "tagger.toml") == recipe("tagger", system="transformer")


@pytest.mark.parametrize("path", sorted((BEFORE / "runs").glob("*.toml")), ids=lambda path: path.stem)
def test_a_recipe_of_a_run_folder_can_be_trained_again(path):
    """It spells out defaults of what has no effect, which says nothing."""
    assert recipes.load(path) == read_stored(path)


def stored(tmp_path, *changes):
    """The stored recipe of the tagger with lines changed, and its path."""
    text = (BEFORE / "runs" / "tagger.toml").read_text(encoding="utf-8")
    for before, after in changes:
        assert text.count(before) == 1
        text = text.replace(before, after)
    (tmp_path / "recipe.toml").write_text(text, encoding="utf-8")
    return tmp_path / "recipe.toml"


def test_what_had_no_effect_in_a_run_is_left_out(tmp_path):
    """Versions before it was refused trained without it, whatever the file says."""
    assert read_stored(stored(tmp_path, ("beam = 4", "beam = 1"))).search is None
    path = stored(tmp_path, ("\nhidden_units = 6", "\nhidden_units = 256"), ('depth = "stack"', 'depth = "star"'))
    expected = recipe("tagger", system="transformer", depth="star")
    assert read_stored(path) == expected and expected.model.hidden_units == 512
    path = stored(tmp_path, ('source_pieces = "unigram"', 'source_pieces = "bpe"'))
    assert read_stored(path).text.noise.candidates == 1 and read_stored(path).text.noise.dropout == 0.1
    path = stored(tmp_path, ("subword_candidates = 3", "subword_candidates = 1"))
    assert read_stored(path).text.noise.rare == 0
    path = stored(
        tmp_path,
        ('depth = "stack"\n', ""),
        ("\nmax_output", '\ndepth = {layer = "universal", ponder = 0.5}\nmax_output'),
    )
    assert plain(read_stored(path))["depth"] == plain(recipe("tagger", depth="universal"))["depth"]
    path = stored(tmp_path, ("row_learning_rate = 0.001", "row_learning_rate = 0.1"))
    assert read_stored(path) == recipe("tagger", system="transformer")


def test_layers_that_a_star_replaced_fall_away_from_its_run(tmp_path):
    path = stored(
        tmp_path,
        ('depth = "stack"', 'depth = "star"'),
        ('block = "pre_norm"', 'block = "macaron"'),
        ('\nattention = "multi_head"', '\nattention = "lsh"'),
        ('feedforward = "dense"', 'feedforward = "chunked"'),
    )
    assert read_stored(path) == recipe("tagger", system="transformer", depth="star")
    with pytest.raises(ValueError, match="has no effect: depth = 'star'"):
        recipes.load(path)


def test_an_odd_width_of_a_macaron_run_is_what_its_halves_came_to(tmp_path):
    path = stored(tmp_path, ('block = "pre_norm"', 'block = "macaron"'), ("\nhidden_units = 6", "\nhidden_units = 13"))
    assert read_stored(path).model.hidden_units == 12  # two halves of 6 were built


def test_a_run_without_a_longest_input_read_whole_texts(tmp_path):
    path = stored(tmp_path, ("max_input_length = 512\n", ""), ("beam = 4\n", ""), ("max_output_length = 60\n", ""))
    assert read_stored(path).text.max_input_length == 0
    assert recipes.load(path).text.max_input_length == 512, "a recipe that is still to be trained has today's default"


def test_a_flat_file_may_extend_one_in_tables_and_the_other_way_round(tmp_path):
    (tmp_path / "flat.toml").write_text(
        'extends = "trec-transformer-pre-norm"\nname = "a"\nunits = 8\ndepth = "star"\n'
    )
    (tmp_path / "tables.toml").write_text('extends = "flat"\nname = "b"\n[model]\nnum_layers = 3\n')
    found = recipes.load(tmp_path / "tables.toml", ["dropout=0.2"])
    assert (found.model.units, found.model.num_layers, found.model.dropout) == (8, 3, 0.2)
    assert found.depth.layer == "star" and found.task == "classify"


def test_a_recipe_in_tables_may_choose_by_names_alone(tmp_path):
    """`data` and `model` were settings of flat recipes, too, with other names of models."""
    found = recipes.make({"name": "a", "task": "translate", "data": "dates", "model": "recurrent"})
    assert (found.data.corpus, found.model.kind) == ("dates", "recurrent")
    found = recipes.make({"name": "a", "task": "translate", "data": "dates", "model": "transformer"})
    assert (found.data.corpus, found.model.kind) == ("dates", "transformer")
    (tmp_path / "base.toml").write_text('name = "a"\ntask = "transduce"\ndata = "dates"\nmodel = "recurrent"\n')
    (tmp_path / "more.toml").write_text('extends = "base"\nmodel = "transformer"\n')
    found = recipes.load(tmp_path / "more.toml")
    assert (found.task, found.model.kind) == ("transduce", "transformer")


@pytest.mark.parametrize(
    ("key", "value", "place"),
    [
        (key, value, place)
        for key, _, value, place, _ in SETTINGS
        if key
        not in ("task", "model", "spelling", "sentences", "feedforward")  # which choose tables: embedding=spelled
    ],
)
def test_a_command_line_knows_the_settings_without_their_tables(key, value, place):
    told = str(value).lower() if isinstance(value, bool) else value
    found = parse(f"{key}={told}")
    assert reduce(lambda table, name: table[name], place.split("."), found) == value


def test_a_flat_recipe_is_rewritten_in_tables():
    text = (BEFORE / "multi30k-de-en-depth-adaptive.toml").read_text(encoding="utf-8")
    found = flat.rewritten(text)
    assert found.startswith("# A block has to make")
    assert '[depth]\nlayer = "depth_adaptive"' in found and "[loss]\n" in found
    with pytest.raises(ValueError, match="is written in tables already"):
        flat.rewritten(found)
