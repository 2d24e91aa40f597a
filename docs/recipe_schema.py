"""Writes the JSON Schema of recipes, for editors: `python docs/recipe_schema.py` writes docs/recipe.schema.json."""

import json
import sys
from pathlib import Path

import msgspec

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from zoo.recipes.recipe import TEXTS  # noqa: E402
from zoo.settings import table  # noqa: E402
from zoo.settings.training import Training  # noqa: E402
from zoo.tasks import TASKS  # noqa: E402

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema():
    """The schema, as a dict: a form for each task and kind of model, and one for recipes that extend another.

    The definitions demand nothing; a form demands what a table lacks, the tag of what is no default among it.
    """
    forms = [(task, kind) for task in TASKS.values() for kind in task.models]
    places = [places_of(task, kind) for task, kind in forms]
    classes = {each for own in places for options in own.values() for each in options}
    ordered = sorted(classes, key=lambda each: (each.__module__, each.__qualname__))
    references, definitions = msgspec.json.schema_components(ordered, ref_template="#/$defs/{name}")
    needs = {name: each.pop("required", []) for name, each in definitions.items()}
    described = {
        each: (own, needs[own["$ref"].rpartition("/")[2]]) for each, own in zip(ordered, references, strict=True)
    }
    return {
        "$schema": DIALECT,
        "title": "A recipe of seqzoo",
        "anyOf": [*(_form(task, kind, described) for task, kind in forms), _extending(places, described)],
        "$defs": definitions,
    }


def places_of(task, kind):
    """`{table: (the classes that may stand there, the default first)}` of a task and a kind of model."""
    choice = task.models[kind]
    places = {"data": task.data, "text": (task.text,), "model": (choice.model,), **choice.slots}
    places |= {"loss": choice.losses, "training": (Training,)}
    places |= {"search": (choice.search,)} if choice.search else {}
    return places | ({"scope": (task.scope,)} if task.scope else {})


def _form(task, kind, described):
    """A whole recipe; what is the default may be left out."""
    properties, first = _texts(), kind == next(iter(task.models))
    properties["task"] = {"const": task.name, "description": TEXTS["task"]}
    for place, classes in places_of(task, kind).items():
        options = []
        for number, each in enumerate(classes):
            own, needs = described[each]
            if place == "loss" or (number == 0 and (place != "model" or first)):
                needs = [name for name in needs if name != each.__struct_config__.tag_field]
            options.append(own | ({"required": needs} if needs else {}))
        properties[place] = _any(options, classes)
    needs = ["name", "task"] + ([] if first else ["model"])
    return {"title": f"{task.name}, {kind}"} | _object(properties) | {"required": needs}


def _extending(places, described):
    """What differs from another recipe: any part of any table."""
    properties = _texts() | {"extends": {"type": "string", "description": "the recipe that this one differs from"}}
    properties["task"] = {"enum": list(TASKS), "description": TEXTS["task"]}
    for place in dict.fromkeys(name for own in places for name in own):
        classes = list(dict.fromkeys(each for own in places for each in own.get(place, ())))
        properties[place] = _any([described[each][0] for each in classes], classes)
    return {"title": "extends"} | _object(properties) | {"required": ["extends"]}


def _texts():
    properties = {name: {"type": "string", "description": meaning} for name, meaning in TEXTS.items()}
    imports = {"type": "array", "items": {"type": "string"}, "description": "modules with layers of others"}
    return properties | {"imports": imports}


def _any(options, classes):
    named = [name for name in table.by_tag(classes) if name]
    options = [*options, {"enum": named}] if named else options
    return options[0] if len(options) == 1 else {"anyOf": options}


def _object(properties):
    return {"type": "object", "properties": properties, "additionalProperties": False}


if __name__ == "__main__":
    written = json.dumps(schema(), indent=1, ensure_ascii=False)
    (ROOT / "docs" / "recipe.schema.json").write_text(f"{written}\n", encoding="utf-8")
