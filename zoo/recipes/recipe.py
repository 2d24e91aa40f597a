"""A recipe: everything that decides a training, as tables of checked settings."""

import re
import sys

import msgspec

from zoo.recipes.mixes import useless_settings, wrong_mix
from zoo.settings import occupants, table
from zoo.settings.slots import SLOTS
from zoo.settings.training import Training
from zoo.tasks import TASKS
from zoo.tasks.parts import corpora

TEXTS = {  # what stands above the tables
    "name": "name of the recipe, and of its run and its artefact",
    "task": f"what the model does: one of {', '.join(TASKS)}",
    "system": "family of models under which the catalogue lists it",
    "description": "what the model is, in a sentence",
}
TABLES = ("data", "text", "model", *SLOTS, "loss", "training", "search", "scope")
NAME = re.compile(r"(?!\.+$)[\w.+-]+")


class Recipe(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of one zoo entry; a slot, a search or a scope that its model does not have is None."""

    name: str
    task: str
    system: str = ""
    description: str = ""
    imports: tuple[str, ...] = ()
    data: table.Table
    text: table.Table
    model: table.Table
    attention: table.Table | None = None
    feedforward: table.Table | None = None
    block: table.Table | None = None
    depth: table.Table | None = None
    positions: table.Table | None = None
    embedding: table.Table | None = None
    pooling: table.Table | None = None
    loss: table.Table
    training: Training
    search: table.Table | None = None
    scope: table.Table | None = None

    @property
    def job(self):
        """The `zoo.tasks.parts.task.Task`."""
        return TASKS[self.task]

    @property
    def choice(self):
        """What the task allows for this kind of model."""
        return self.job.choice(self)

    @property
    def title(self):
        """The task and its languages, such as "translate de-en"."""
        return " ".join([self.task, "-".join(filter(None, self.languages))]).strip()

    @property
    def languages(self):
        """(source, target), "" where the data have none."""
        return self.data.languages


def allowed_tables(settings):
    """`{table: (the classes that may stand there, the default first)}` of the task and model that settings name.

    Raises:
        ValueError: there is no such task or kind of model.
    """
    task, choice = _find_choice(settings)
    places = {"data": task.data, "text": (task.text,), "model": tuple(each.model for each in task.models.values())}
    places |= _with_others(choice, settings)
    places |= {"loss": choice.losses, "training": (Training,)}
    places |= {"search": (choice.search,)} if choice.search else {}
    return places | ({"scope": (task.scope,)} if task.scope else {})


def _find_choice(settings):
    """The task and the `Choice` that settings name; the first one where their kind of model is none of the task's."""
    name = settings.get("task", "")
    if name not in TASKS:
        raise ValueError(f"task must be one of {', '.join(TASKS)}; received {name!r}.{table.hint(name, TASKS)}")
    task = TASKS[name]
    model = settings.get("model", {})
    kind = model.get("kind") if isinstance(model, dict) else model
    return task, task.models.get(kind if isinstance(kind, str) else None, next(iter(task.models.values())))


def _with_others(choice, settings):
    """The layers of each slot; registered ones follow where a recipe names a layer that the zoo does not have."""
    named = {slot: _layer_name(settings, slot) for slot in choice.slots}
    if not any(named[slot] and named[slot] not in table.by_tag(own) for slot, own in choice.slots.items()):
        return choice.slots
    occupants.import_modules()
    return {slot: (*own, *occupants.fitting_others(slot, choice.needs[slot])) for slot, own in choice.slots.items()}


def _layer_name(settings, slot):
    value = settings.get(slot)
    name = value.get("layer") if isinstance(value, dict) else value
    return name if isinstance(name, str) else None  # what is none is reported where the table is read


def _reasons_against(settings, place):
    """`{layer: why}` of the layers that a slot may not hold; {} of other tables."""
    return occupants.reasons(place, _find_choice(settings)[1].needs.get(place, {}))


def make(settings):
    """A `Recipe` from a dict of tables; whole numbers may stand for floats.

    Where a slot or another table has a choice, the name of what is chosen may stand for the table.

    Raises:
        ValueError: a setting is unknown (the message names the nearest one) or missing, of the wrong kind, without
            effect, or does not fit the others.
    """
    recipe = read_settings(settings)
    wrong = list(useless_settings(recipe).values()) or [each for each in [wrong_mix(recipe)] if each]
    if wrong:
        raise ValueError(f"recipe {recipe.name!r}: {' '.join(wrong)}")
    return recipe


def read_settings(settings):
    """A `Recipe` whose tables are checked one by one; `make` also checks how they fit each other."""
    missing = [name for name in ("name", "task") if not settings.get(name)]
    if missing:
        described = "; ".join(f"{name}, {TEXTS[name]}" for name in missing)
        raise ValueError(f"the recipe lacks {described}. Received: {', '.join(settings) or 'nothing'}.")
    texts = {name: settings[name] for name in TEXTS if name in settings}
    for name, value in texts.items():
        if not isinstance(value, str):
            raise ValueError(f"{name} must be a text in quotation marks; received {value!r}.")
    imports = named_modules(settings)
    tables = allowed_tables(settings)
    for key in settings:
        refuse_unknown(key, tables, settings)
    if not NAME.fullmatch(texts["name"]):
        raise ValueError(
            f"name is the name of a file and a folder: letters, digits and . _ + - alone; received {texts['name']!r}."
        )
    try:
        values = {
            name: table.read(name, classes, settings.get(name, {}), _reasons_against(settings, name))
            for name, classes in _with_default_loss(tables, settings).items()
        }
    except ValueError as error:
        raise ValueError(f"recipe {texts['name']!r}: {error}{_hint_imports(imports)}") from error
    return Recipe(**texts, imports=tuple(imports), **values)


def named_modules(settings):
    """The modules with layers that settings name in `imports`; nothing is imported."""
    imports = settings.get("imports", [])
    if not isinstance(imports, list) or not all(isinstance(each, str) for each in imports):
        raise ValueError(f"imports must be a list of modules, such as ['mine']; received {imports!r}.")
    return imports


def _hint_imports(imports):
    """A hint that a layer may be missing because a module that the recipe names was not imported; "" if all are."""
    absent = [each for each in imports if each not in sys.modules]
    if not absent:
        return ""
    options = " ".join(f"--import {each}" for each in absent)
    return (
        f" The recipe names {', '.join(absent)} for its layers. A module is a program, and that of a stored recipe "
        f"is imported only if you ask for it: {options} (from Python import it first)."
    )


def _with_default_loss(tables, settings):
    """The classes of each table, the default loss being the one of the depth."""
    if _layer_name(settings, "depth") == "depth_adaptive":
        return tables | {"loss": tables["loss"][::-1]}
    return tables


def refuse_unknown(key, tables, settings):
    """Refuse a table or a text that the recipe has no place for, and name the nearest one that it has."""
    places = [*TEXTS, "imports", *tables]
    if key in places:
        return
    recipe = f"recipe {settings['name']!r}"
    if key in TABLES:
        raise ValueError(
            f"{recipe}: [{key}] has no place in this recipe: its model has {', '.join(tables)}. Leave it out."
        )
    near = table.hint(key, places) or hint_setting(key)
    raise ValueError(f"{recipe}: unknown setting {key!r}.{near} A recipe has {', '.join(places)}.")


def hint_setting(name):
    """ " Did you mean ...?", with the tables that have a setting of this name, or of the nearest one, in any recipe."""
    if "." in name:
        return table.hint(name.partition(".")[0], TABLES)
    places = {}
    for task, kinds in TASKS.items():
        for kind in kinds.models:
            for place, classes in allowed_tables({"task": task, "model": kind}).items():
                for each in (each for one in classes for each in table.fields(one)):
                    places.setdefault(each, {})[f"{place}.{each}"] = None
    near = table.nearest(name, places)
    return f" Did you mean {' or '.join(places[near])}?" if near else ""


def explain(recipe):
    """Every setting of a recipe: a list of {"table", "setting", "value", "default", "meaning", "choices"}.

    A default of None says that there is none, or that the setting may be left out.
    """
    rows = [
        {"table": "", "setting": name, "value": value, "default": None, "meaning": TEXTS.get(name, ""), "choices": []}
        for name, value in plain(recipe).items()
        if not isinstance(value, dict)
    ]
    tables = allowed_tables(plain(recipe))
    for name in TABLES:
        if (own := getattr(recipe, name)) is not None:
            rows += table.explain(name, own, tables[name])
    return rows


def plain(recipe):
    """A recipe as a dict of values that TOML can express, every setting spelt out."""
    result = {name: getattr(recipe, name) for name in TEXTS if getattr(recipe, name)}
    if recipe.imports:
        result["imports"] = list(recipe.imports)
    for name in TABLES:
        if (value := getattr(recipe, name)) is not None:
            result[name] = table.plain(value)
    return result


def check_data(recipe, splits, directory=None):
    """Refuse data that are missing (`zoo.tasks.parts.corpora.check_data`), and scores that cannot be computed here."""
    recipe.job.check(recipe)
    corpora.check_data(recipe, splits, directory)


def read(recipe, split, directory=None):
    """(inputs, answers) of a split of the recipe's data, see `zoo.tasks.parts.corpora.read`."""
    return recipe.job.read(recipe, split, directory)
