"""Recipes: every file loads, and whatever is wrong is refused with a hint."""

import pytest

from tests.recipes.small import KINDS, recipe
from zoo import recipes
from zoo.recipes.files import combine_settings, parse
from zoo.recipes.recipe import plain


@pytest.mark.parametrize("name", recipes.list_recipes())
def test_each_recipe_loads_under_its_own_name(name):
    found = recipes.load(name)
    assert found.name == name
    assert found.training.steps % found.training.validate_every == 0
    assert found.training.warmup < found.training.steps


def test_the_zoo_has_its_entries():
    assert {"dates-gru-additive", "reversal-gru-none", "multi30k-de-en-gru-dot"} <= set(recipes.list_recipes())


def test_text_round_trip(tmp_path):
    path = tmp_path / "recipe.toml"
    one = recipe(
        description='Ein "ß" \\ und\nmehr\x7f\x00',
        training={"learning_rate": 1e-5},
        text={"byte_fallback": True, "joiner": "@@ "},
        data={"corpus": "files", "train": ["a.de", "a.en"], "columns": {"source text": 1, "target": "to"}},
    )
    path.write_text(recipes.dumps(one), encoding="utf-8")
    assert recipes.load(path) == one


def test_overrides_parse_by_type():
    overrides = ["training.steps=7", "model.dropout=0.5", "training.learning_rate=1", "text.byte_fallback=true"]
    overrides += ["model.cell=lstm", "description=a=b", "training.schedule=linear", "data.train_size=30"]
    found = recipes.load("dates-gru-additive", [*overrides, "training.warmup=0"])
    assert (found.training.steps, found.model.dropout, found.training.learning_rate) == (7, 0.5, 1.0)
    assert type(found.training.learning_rate) is float and found.data.train_size == 30
    assert found.text.byte_fallback is True and found.model.cell == "lstm" and found.description == "a=b"


@pytest.mark.parametrize(
    ("assignment", "expected"),
    [
        ("training.steps=7", {"training": {"steps": 7}}),
        ("attention=lsh", {"attention": {"layer": "lsh"}}),
        ("model=recurrent", {"model": {"kind": "recurrent"}}),
        ("data=dates", {"data": {"corpus": "dates"}}),
        ("loss=depth_adaptive", {"loss": {"kind": "depth_adaptive"}}),
        ("text.noise.candidates=3", {"text": {"noise": {"candidates": 3}}}),
        ('data.columns={text = "a", label = 2}', {"data": {"columns": {"text": "a", "label": 2}}}),
        ("data.train=1999-03-03", {"data": {"train": "1999-03-03"}}),
        ("task=tag", {"task": "tag"}),
        ("imports=['json']", {"imports": ["json"]}),
        ("name=7", {"name": "7"}),
    ],
)
def test_what_an_override_says(assignment, expected):
    assert parse(assignment) == expected


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("steps", "expected table.key=value, such as training.steps=100; received 'steps'"),
        ("training=3", "expected training.KEY=VALUE, for training is a table; received 'training=3'"),
        ("training.steps=many", "training.steps must be a whole number of at least 1; received 'many'"),
        ("training.steps=1.5", "training.steps must be a whole number of at least 1; received 1.5"),
        ("training.learning_rate=nan", "learning_rate must be a number above 0; received nan"),
        ("training.weight_decay=inf", "weight_decay must be a number of at least 0; received inf"),
        ("training.rates={x=inf}", "rates must be a table whose values are each a number above 0; received {.x.: inf}"),
        ("text.byte_fallback=yes", "text.byte_fallback must be true or false; received 'yes'"),
        (
            "unit=3",
            "unknown setting 'unit'. Did you mean model.units[?] Expected table.key, where the table is one of data",
        ),
        ("trainin.steps=3", "unknown setting 'trainin.steps'. Did you mean 'training'"),
        (
            "model.unit=3",
            "model = 'recurrent' has no setting 'unit'. Did you mean 'units'[?] It takes units, num_layers",
        ),
        ("text.target.piece=char", "text.target has no setting 'piece'. Did you mean 'pieces'"),
        ("text.noise=3", "text has no setting 'noise'"),
        ("text.target=3", "text.target must be a table; received 3"),
        ("model.cell=gr", "model.cell must be one of .*; received 'gr'. Did you mean 'gru'"),
        (
            "attention=aditive",
            "attention must be one of additive, dot, none; received 'aditive'. Did you mean 'additive'",
        ),
        ("name=a b", "letters, digits and . _ . - alone; received 'a b'"),
        ("name=..", "the name of a file and a folder: .*; received '..'"),
        ("name=../up", "name is the name of a file and a folder: .*; received '../up'"),
    ],
)
def test_wrong_overrides_are_refused(assignment, message):
    with pytest.raises(ValueError, match=message):
        recipes.load("dates-gru-additive", [assignment])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"task": "tag"}, r"\[search\] has no place in this recipe: its model has data, text"),
        ({"task": "tagging"}, "task must be one of classify, .*; received 'tagging'. Did you mean 'tag'"),
        ({"data": "tagged"}, "data must be one of files, parallel, dates, reversal; received 'tagged'"),
        (
            {"positions": "learned"},
            r"\[positions\] has no place in this recipe: its model has data, text, model, atten",
        ),
        ({"label_smoothin": 0.1}, "unknown setting 'label_smoothin'.* A recipe has name, task"),
        ({"label_smoothing": 0.1}, "unknown setting 'label_smoothing'. Did you mean loss.label_smoothing"),
        ({"losses": {}}, "unknown setting 'losses'. Did you mean 'loss'"),
        ({"loss": {"label_smoothin": 0.1}}, "has no setting 'label_smoothin'. Did you mean 'label_smoothing'"),
        ({"model": {"units": 1.5}}, "model.units must be a whole number of at least 1; received 1.5"),
        ({"model": {"units": True}}, "model.units must be a whole number of at least 1; received True"),
        ({"model": {"units": "7"}}, "model.units must be a whole number of at least 1; received '7'"),
        ({"model": {"units": -1}}, "model.units must be a whole number of at least 1; received -1"),
        ({"training": {"warmup": -1}}, "training.warmup must be a whole number of at least 0; received -1"),
        (
            {"text": {"character_coverage": 0.0}},
            "character_coverage must be a number above 0 and at most 1; received 0",
        ),
        ({"attention": 3}, "attention must be the name of its layer or a table with its settings; received 3"),
        ({"training": 3}, "training must be a table; received 3"),
        ({"training": "fast"}, "training must be a table; received 'fast'"),
        (
            {"data": {"corpus": "parallel"}},
            "data lacks source_language, suffix of the source files.*; target_language, su",
        ),
        (
            {"data": {"corpus": "parallel", "source_language": "", "target_language": "en"}},
            "data: a parallel corpus needs source_language and target_language, received '' and 'en'",
        ),
        ({"description": 3}, "description must be a text in quotation marks; received 3"),
        ({"imports": "mine"}, "imports must be a list of modules, such as .*; received 'mine'"),
    ],
)
def test_wrong_settings_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        recipes.make(KINDS["seq2seq"] | {"data": "reversal"} | changes)


STRANGE = [None, -1, 10**30, "x", [[]], {"x": 1}, {"layer": [], "kind": {}, "corpus": []}]


def everywhere(settings, before=()):
    """The places of all settings and tables, but of modules to import."""
    for name, value in settings.items():
        if name != "imports":
            yield (*before, name)
        if isinstance(value, dict):
            yield from everywhere(value, (*before, name))


def put(settings, place, value):
    first, *rest = place
    inside = settings.get(first)
    return settings | {first: put(inside if isinstance(inside, dict) else {}, rest, value) if rest else value}


@pytest.mark.release(but=1)
@pytest.mark.parametrize(
    "kind", ["seq2seq", *(pytest.param(each, marks=pytest.mark.slow) for each in ("reformer", "tagger", "pairs"))]
)
def test_whatever_is_said_is_taken_or_refused_in_words(kind):
    """No other error than the one whose message says what is wrong, neither in a file nor in one that it extends."""
    whole = plain(recipe(kind))
    for place in everywhere(whole):
        for value in STRANGE:
            own = put({}, place, value)
            for layers in ([put(whole, place, value)], [whole, own], [put(whole, place, value), {"seed": 3}]):
                try:
                    recipes.make(combine_settings(layers))
                except ValueError as error:
                    assert str(error)


@pytest.mark.parametrize("name", ["name", "task"])
def test_a_missing_setting_is_named(name):
    with pytest.raises(ValueError, match=f"the recipe lacks {name}, .*[.] Received: "):
        recipes.make({key: value for key, value in KINDS["seq2seq"].items() if key != name})


def test_a_recipe_of_three_words_is_one():
    """Everything else has a default."""
    one = recipes.make({"name": "mine", "task": "translate", "data": "dates"})
    assert (one.model.kind, one.attention.layer, one.training.steps) == ("recurrent", "additive", 10_000)
    assert one.title == "translate"
    parallel = {"corpus": "parallel", "source_language": "de", "target_language": "en"}
    assert recipes.make({"name": "mine", "task": "translate", "data": parallel}).title == "translate de-en"


def test_a_recipe_does_not_change_what_it_is_made_of():
    settings = {"name": "mine", "task": "translate", "data": {"corpus": "dates"}, "model": {"units": 8}}
    before = repr(settings)
    recipes.make(settings)
    assert repr(settings) == before
    with pytest.raises(AttributeError, match="immutable"):
        recipes.make(settings).model.units = 9


@pytest.mark.parametrize("family", ["multi30k-de-en", "multi30k-en-de", "tatoeba-en-zh", "trec", "sst2", "ewt-pos"])
def test_wirings_differ_in_nothing_else(family):
    one, *others = (recipes.load(f"{family}-transformer-{wiring}") for wiring in ("pre-norm", "post-norm", "macaron"))
    for other in others:
        changed = {key for key, value in plain(one).items() if value != plain(other)[key]}
        assert changed <= {"name", "description", "block"}
        assert other.block.layer.replace("_", "-") in other.name


def test_a_recipe_may_begin_with_a_mark_of_its_encoding(tmp_path):
    """Editors on Windows write one before UTF-8."""
    (tmp_path / "mine.toml").write_text('extends = "dates-gru-additive"\nname = "é"\n', encoding="utf-8-sig")
    assert recipes.load(tmp_path / "mine.toml").name == "é"


def test_wrong_files_are_refused(tmp_path):
    with pytest.raises(ValueError, match="unknown recipe 'dates-gru'. Did you mean 'dates-gru-add"):
        recipes.load("dates-gru")
    with pytest.raises(ValueError, match="there is no recipe .*none.toml. Write one with `seqzoo new TASK DATA"):
        recipes.load(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_text("name = ")
    with pytest.raises(ValueError, match="bad.toml is not TOML"):
        recipes.load(tmp_path / "bad.toml")
