"""Tables of settings: every one says what it means, has a default or is asked for, and can be said in some recipe."""

from functools import reduce

import msgspec
import pytest

from tests.recipes.small import recipe
from zoo import recipes
from zoo.recipes.files import merge
from zoo.recipes.recipe import TABLES, allowed_tables, plain
from zoo.settings import data, table
from zoo.tasks import TASKS

CHOICES = [(task, kind) for task in TASKS for kind in TASKS[task].models]


def settings_of(task, kind):
    return {"name": "a", "task": task, "model": {"kind": kind}}


def tables():
    """{(place, table class)} of all that recipes may say, tables inside of tables too."""
    found = {}
    for task, kind in CHOICES:
        for place, classes in allowed_tables(settings_of(task, kind)).items():
            for each in classes:
                found.setdefault((place, each), []).append((task, kind))
    for (place, each), where in list(found.items()):
        for name, field in table.fields(each).items():
            if inside := table.nested_table(field.type):
                found.setdefault((f"{place}.{name}", inside), []).extend(where)
    return found


EVERY = tables()
FIELDS = [(place, each, name) for place, each in EVERY for name in table.fields(each)]
REQUIRED = {"source_language", "target_language"}  # of a parallel corpus: no default would do


def show(value):
    return value.__name__ if isinstance(value, type) else str(value)


def test_all_places_are_here():
    assert {place for place, _ in EVERY if "." not in place} == set(TABLES)


@pytest.mark.parametrize(("place", "each"), EVERY, ids=show)
def test_every_table_says_what_it_is(place, each):
    assert (each.__doc__ or "").strip().endswith((".", ").")) or "Attributes:" in each.__doc__


@pytest.mark.parametrize(("place", "each", "name"), FIELDS, ids=show)
def test_every_setting_has_a_meaning_and_a_default_or_is_required(place, each, name):
    field = table.fields(each)[name]
    said = table.meaning(field.type)
    assert said and said == said.strip() and not said.endswith("."), (
        "a meaning stands behind a name, without a full stop"
    )
    if field.required:
        assert name in REQUIRED
        return
    usual = table.default(each, name)
    assert usual is None or table.nested_table(field.type) or table.convert(usual, field.type) == usual


@pytest.mark.parametrize(("place", "each"), EVERY, ids=show)
def test_a_table_of_defaults_is_accepted_and_says_itself(place, each):
    required = {name: "de" for name, field in table.fields(each).items() if field.required}
    whole = each(**required)
    assert table.read(place, (each,), table.plain(whole)) == whole
    assert table.read(place, (each,), table.select_read((each,), table.plain(whole))) == whole


@pytest.mark.parametrize(("place", "each"), [case for case in EVERY if case[1].only], ids=show)
def test_rules_of_what_is_read_name_settings_that_are_there(place, each):
    known = table.fields(each)
    for name, needs in each.only.items():
        for other, values in needs.items():
            assert name in known and other in known
            possible = table.choices(known[other].type) or (True, False)
            assert set(values) < set(possible), "some value of it reads the setting, and some does not"


OTHER = {
    "encoding": "cp1252",
    "rules_off": ["labels"],
    "encodings": {"old.csv": "cp1252"},
    "units": 8,
    "num_keys": 8,
    "width": 5,
    "max_distance": 64,
    "longest": 8,
    "rates": {"encoder/*": 0.1},
    "layout": {"*embedding/matrix": 0},
}  # which fit what stands beside them


def another(field, usual):
    """A value that is not the default, of the setting's kind."""
    if choices := table.choices(field.type):
        return next(each for each in choices if each != usual)
    if field.name in OTHER:
        return OTHER[field.name]
    candidates = (True, False, 2, 3, 0.25, 5, 8, 0.5, "other", ["other"], [1], [[1]], {"text": "other"})
    for value in candidates:
        try:
            found = table.convert(value, field.type)
        except ValueError:
            continue
        if found != usual and type(found) is type(value):
            return value
    raise AssertionError(f"no other value of {field.name}")


NEEDED = {  # what a setting needs beside it to have an effect
    "text.noise.rare": {"text": {"noise": {"candidates": 3}}},
    "text.noise.alpha": {"text": {"noise": {"candidates": 3}}},
    "training.row_learning_rate": {"feedforward": "product_key"},
    "model.context": {"positions": "learned"},
    "scope.threshold": {"scope": {"label": "none", "trained": True}},
    "scope.trained": {"scope": {"label": "none"}},
    "search.length_extra": {"search": {"length_ratio": 2.0}},
    "training.vocabulary": {"training": {"init": "runs/first"}},
    "training.init_differences": {"training": {"init": "runs/first"}},
    "training.lora": {"training": {"init": "runs/first"}},
    "training.lora_layers": {"training": {"init": "runs/first", "lora": 4}},
    "training.layout": {"training": {"model_parallel": 2}},
    "embedding.width": {"positions": {"projected": True}},
    "depth.threshold": {"depth": {"halting": "accumulated"}},
    "depth.ponder": {"depth": {"halting": "accumulated"}},
    "depth.paths": {"depth": {"exit": "last"}},
    "DepthLoss": {"depth": "depth_adaptive"},
    "Hashed": {"attention": {"layer": "local"}},
    "Parallel": {"data": {"source_language": "fr", "target_language": "en"}},
}


def attempts(place, each, name):
    """Recipes of every task and kind of model that hold the table, with the setting changed and without it."""
    first, *inside = place.split(".")
    key = ".".join([place, name])
    tag = each.__struct_config__.tag
    for task, kind in dict.fromkeys(EVERY[(place, each)]):
        own = settings_of(task, kind)
        if not inside and tag:
            own = merge(own, {first: {each.__struct_config__.tag_field: tag}})
        own = reduce(merge, [NEEDED.get(key, {}), NEEDED.get(each.__name__, {})], own)
        value = {name: another(table.fields(each)[name], None if name in REQUIRED else table.default(each, name))}
        for part in reversed(inside):
            value = {part: value}
        yield own, merge(own, {first: value})


@pytest.mark.parametrize(
    ("place", "each", "name"),
    [(place, each, name) for place, each, name in FIELDS if not table.nested_table(table.fields(each)[name].type)],
    ids=show,
)
def test_some_recipe_takes_another_value_than_the_default(place, each, name):
    """No setting is dead: in some recipe another value is accepted, and the recipe is another one then."""
    told = []
    for without, changed in attempts(place, each, name):
        try:
            found = recipes.make(changed)
        except ValueError as error:
            told.append(str(error))
            continue
        assert plain(found) != plain(recipes.make(without))
        return
    raise AssertionError(f"refused everywhere: {told}")


@pytest.mark.parametrize(
    ("kind", "table_of", "value"),
    [
        ("tagger", "text.noise.rare", 5),
        ("tagger", "text.noise.alpha", 0.5),
        ("language_model", "depth.threshold", 0.5),
        ("language_model", "depth.ponder", 0.5),
    ],
)
def test_a_setting_that_needs_another_one_is_refused_without_it(kind, table_of, value):
    """Each rule both ways; those between tables are in tests/recipes/test_effects.py."""
    first, *inside = table_of.split(".")
    given = value
    for part in reversed(inside):
        given = {part: given}
    of_the_layer = {"layer": "universal"} if first == "depth" else {}
    off = {"noise": {"candidates": 1, "rare": 0}} if first == "text" else {}
    with pytest.raises(ValueError, match=f"{table_of}={value} has no effect: it is read where "):
        recipe(kind, **{first: merge(merge(of_the_layer, off), given)})
    assert recipe(kind, **merge({first: merge(of_the_layer, given)}, NEEDED[table_of]))


def test_tables_are_frozen_and_equal_where_their_settings_are():
    one, other = recipe("reformer"), recipe("reformer")
    assert one == other and one != recipe("reformer", "training.steps=9")
    with pytest.raises(AttributeError):
        one.attention.rounds = 3
    assert msgspec.structs.replace(one.training, steps=9).steps == 9


@pytest.mark.parametrize("name", ["x", "hex", "a\0b"])
def test_an_encoding_that_reads_no_text_is_refused(name):
    with pytest.raises(ValueError, match="encoding must be a name that Python knows.*received"):
        data.Files(encoding=name)


def test_whole_numbers_have_at_most_32_bits():
    """Greater ones were tracebacks, inside the framework."""
    assert table.convert(2**31 - 1, table.Count) == 2**31 - 1
    for value, kind in ((2**31, table.Count), ([4, 2**40], list[int]), ({"text": 2**70}, dict[str, int])):
        with pytest.raises(ValueError, match="and at most 2147483647; received .*[0-9]{10}"):
            table.convert(value, kind)
    with pytest.raises(ValueError, match="training.seed must be a whole number of at least 0, and at most"):
        recipe("reformer", f"training.seed={2**32}")
