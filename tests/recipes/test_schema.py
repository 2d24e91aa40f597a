"""docs/recipe.schema.json: what an editor checks recipes against. The validator is the package jsonschema."""

import importlib.util
import json
import tomllib

import pytest
from jsonschema import Draft202012Validator

from tests.house_rules import ROOT
from zoo import recipes
from zoo.recipes.files import CATALOGUE
from zoo.tasks import TASKS

SPEC = importlib.util.spec_from_file_location("recipe_schema", ROOT / "docs" / "recipe_schema.py")
SCHEMA = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(SCHEMA)
STORED = json.loads((ROOT / "docs" / "recipe.schema.json").read_text(encoding="utf-8"))
WHOLE = {path.stem: tomllib.loads(path.read_text(encoding="utf-8")) for path in sorted(CATALOGUE.glob("*.toml"))}
EXTENDING = [name for name, settings in WHOLE.items() if "extends" in settings]
OWN = {"name": "mine", "task": "classify", "data": {"corpus": "files", "train": "a.csv"}}


@pytest.fixture(scope="module")
def validator():
    Draft202012Validator.check_schema(STORED)
    return Draft202012Validator(STORED)


def test_the_schema_is_up_to_date():
    """`python docs/recipe_schema.py` writes it."""
    assert STORED == json.loads(json.dumps(SCHEMA.schema()))


@pytest.mark.parametrize("name", sorted(WHOLE.keys() - EXTENDING))
def test_a_whole_recipe_is_valid(name, validator):
    assert list(validator.iter_errors(WHOLE[name])) == []


@pytest.mark.parametrize("name", EXTENDING)
def test_a_recipe_that_extends_another_is_valid_with_what_it_extends(name, validator):
    """An editor checks it alone, where even the task may be missing; spelt out it is whole."""
    assert list(validator.iter_errors(WHOLE[name])) == []
    assert list(validator.iter_errors(tomllib.loads(recipes.dumps(recipes.load(name))))) == []


def test_there_is_a_form_for_every_task_and_model():
    forms = {each["title"] for each in STORED["anyOf"]}
    assert forms == {f"{name}, {kind}" for name, task in TASKS.items() for kind in task.models} | {"extends"}


def test_every_setting_has_its_meaning():
    lacking = [
        f"{name}.{key}"
        for name, definition in STORED["$defs"].items()
        for key, each in definition["properties"].items()
        if "description" not in each and key not in ("corpus", "kind", "layer")
    ]
    assert lacking == []


@pytest.mark.parametrize(
    "model", [{}, {"model": {"kind": "recurrent"}}, {"model": {"kind": "transformer", "units": 8}}]
)
def test_a_recipe_may_leave_out_what_has_a_default(model, validator):
    assert list(validator.iter_errors(OWN | model)) == []


WRONG = [
    {"task": "clasify"},
    {"trainin": {"steps": 3}},
    {"training": {"step": 3}},
    {"training": {"steps": "many"}},
    {"training": {"steps": 0}},
    {"training": {"schedule": "triangle"}},
    {"model": {"kind": "transformer", "cell": "gru"}},
    {"model": {"kind": "recurrent"}, "depth": {"layer": "stack"}},
    {"attention": {"layer": "additive"}},
    {"attention": {"layer": "lsh", "num_buckets": 3}},
    {"text": {"target": {"vocab_size": 30}}},
    {"search": {"beam": 3}},
    {"name": 3},
    {"data": {"corpus": "parallel", "source_language": "de"}},
    {"extends": "trec-star", "training": {"step": 3}},
    {"extends": "trec-star", "trainin": {"steps": 3}},
]


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_what_is_refused_is_not_valid(wrong, validator):
    settings = OWN | wrong
    assert not validator.is_valid(settings)
    with pytest.raises(ValueError):
        recipes.load(settings)
