"""Recipes as TOML files, and settings as a command line gives them."""

import re
import tomllib
from os import PathLike
from pathlib import Path

import msgspec

from zoo.recipes.checkpoint import SUFFIX, is_checkpoint, recipe_text
from zoo.recipes.mixes import useless_settings
from zoo.recipes.recipe import (
    TABLES,
    TEXTS,
    Recipe,
    allowed_tables,
    hint_setting,
    make,
    named_modules,
    plain,
    read_settings,
)
from zoo.recipes.toml import toml
from zoo.settings import occupants, table
from zoo.settings.slots import SLOTS
from zoo.settings.training import Training
from zoo.tasks.parts import corpora

CATALOGUE = Path(__file__).parents[1] / "catalogue"  # the recipes that come with the zoo, and their scores
SPLIT_WORDS = {"train", "training", "data", "examples", ""}  # common names, which distinguish no file
LONGEST_NAME = 40
TAGS = {"data": "corpus", "model": "kind", "loss": "kind"} | dict.fromkeys(SLOTS, "layer")


def parse(assignment):
    """The tables of a command line's "table.key=value": `{"training": {"steps": 100}}`.

    The value is read as TOML; what is no TOML is a text without quotation marks. A table with a choice takes the name
    of what is chosen: "attention=lsh".

    Raises:
        ValueError: there is no "=" or no such setting.
    """
    key, equals, text = assignment.partition("=")
    if not equals:
        raise ValueError(f"expected table.key=value, such as training.steps=100; received {assignment!r}.")
    first, *rest = key.split(".")
    if key in TABLES and key not in TAGS:
        raise ValueError(f"expected {key}.KEY=VALUE, for {key} is a table; received {assignment!r}.")
    if first in TABLES and rest:
        path = tuple(key.split("."))
    elif first in TAGS:
        path = (first, TAGS[first])
    elif key in (*TEXTS, "extends", "imports"):
        return {key: _value(text) if key == "imports" else text}
    else:
        raise ValueError(
            f"unknown setting {key!r}.{hint_setting(key)} Expected table.key, where the table is one of "
            f"{', '.join(TABLES)}."
        )
    value = _value(text)
    for name in reversed(path):
        value = {name: value}
    return value


def _value(text):
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
    return value if isinstance(value, bool | int | float | str | list | dict) else text  # a date is a text here


def list_recipes():
    """The names of the recipes that come with the zoo, sorted."""
    return sorted(path.stem for path in CATALOGUE.glob("*.toml"))


def load(recipe, overrides=(), imports=()):
    """The recipe of a name, of a TOML file or of a dict of tables, with overrides applied.

    A file that begins with `extends = "NAME"` holds only what differs from NAME.toml, which lies beside it or else in
    the zoo; `extends` may be the path of a .toml, too, as seen from the file's folder. Settings that the extended
    recipe gives, and for which what differs leaves no use, fall away; what a file or an override says itself and has no
    effect is refused.

    Args:
        recipe: a name of `list_recipes`, the path of a .toml, or of a checkpoint, which holds its recipe, a dict as
            TOML reads one (its `extends` is seen from the working folder), or a `Recipe`.
        overrides: each "table.key=value", or a dict of tables.
        imports: modules that bring layers of one's own (`zoo.register`), from the working folder, too. Those that the
            recipe names are imported where they are installed.

    Raises:
        ValueError: there is no such recipe, recipes extend each other in a circle, or it is wrong (see `make`,
            `parse`).
    """
    own = merge({"imports": list(imports)} if imports else {}, merge_overrides(overrides))
    chain = _read_chain(recipe)
    occupants.import_modules(imports)
    for each in [own] if isinstance(recipe, Recipe) else [*chain, own]:
        occupants.import_installed(named_modules(each))
    return make(combine_settings([*chain, own]))


def load_for_training(recipe, overrides=(), imports=(), data=None):
    """As `load`; where the training files are not those that the recipe names, their name is added to the recipe's.

    So one recipe trained on two languages makes two models, and not two versions of one. A name among the overrides
    stays as it is.

    Args:
        recipe, overrides, imports: as of `load`.
        data: where the data lie, as of `zoo.train`.
    """
    overrides = list(overrides)  # an iterator can be read only once
    loaded, chain = load(recipe, overrides, imports), _read_chain(recipe)
    if "name" in merge_overrides(overrides) or isinstance(data, dict) or is_checkpoint(recipe):
        return loaded
    files = _as_list(getattr(corpora.training_data(loaded, data)[0].data, "train", ""))
    named = combine_settings(chain).get("data", {})
    if not files or files == _as_list(named.get("train", "") if isinstance(named, dict) else ""):
        return loaded
    return msgspec.structs.replace(loaded, name=f"{loaded.name}-{_distinct_name(files[0])}")


def _as_list(paths):
    return [each for each in ([paths] if isinstance(paths, str) else list(paths)) if each]


def _distinct_name(path):
    """The words that distinguish a file of examples: "vie" of vie_train.tsv, or the folder's name of vie/train.tsv."""
    place = Path(path.removeprefix("hf://").partition(":")[0] if path.startswith("hf://") else path).resolve()
    for part in (place.name if place.is_dir() else place.name.partition(".")[0], place.parent.name, "data"):
        words = [each for each in re.split(r"[\W_]+", part) if each.lower() not in SPLIT_WORDS]
        if "".join(words):
            return "-".join(filter(None, words))[:LONGEST_NAME]
    return "data"


def merge_overrides(overrides):
    """The tables of all overrides, of which later ones win; each is "table.key=value", or a dict of tables."""
    settings = {}
    for each in overrides:
        settings = merge(settings, parse(each) if isinstance(each, str) else each)
    return settings


def _read_chain(recipe):
    """A list with the settings of a recipe, as `load` takes it, behind those of the recipes that it extends."""
    if isinstance(recipe, Recipe):
        return [plain(recipe)]
    if isinstance(recipe, dict):
        return _follow_extends(recipe, Path("this recipe"))
    if not isinstance(recipe, str | PathLike):
        raise ValueError(
            "expected a recipe's name, the path of its .toml, a dict of its tables or a Recipe; received "
            f"{recipe!r:.60}."
        )
    path = Path(recipe)
    if path.suffix not in (".toml", SUFFIX):
        if str(recipe) not in list_recipes():
            if (path / "recipe.toml").is_file():
                raise ValueError(f"{path} is the folder of a run, whose recipe is {path / 'recipe.toml'}.")
            if path.exists():
                raise ValueError(
                    f"{path} is no recipe, which is a .toml file. Write one for your data with `seqzoo new TASK {path} "
                    "--out NAME.toml`, or name one of the zoo's (`seqzoo list`)."
                )
            raise ValueError(
                f"unknown recipe {str(recipe)!r}.{table.hint(recipe, list_recipes())} `seqzoo list` shows those of the "
                "zoo; one of your own is named by the path of its .toml file."
            )
        path = CATALOGUE / f"{recipe}.toml"
    if not path.is_file() and not is_checkpoint(path):
        raise ValueError(
            f"there is no recipe {path}. Write one with `seqzoo new TASK DATA --out {path}`, "
            "or name one of the zoo's (`seqzoo list`)."
        )
    return _follow_extends(read(path), path)


def read(path):
    """The settings of one file, in tables; of a checkpoint those of the recipe that it holds.

    Raises:
        ValueError: the file is not TOML, or cannot be read; or it is no checkpoint.
    """
    try:
        text = recipe_text(path).decode() if is_checkpoint(path) else path.read_text(encoding="utf-8-sig")
        settings = tomllib.loads(text)
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}. Expected a recipe that may be read.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not TOML: {error}") from error
    return settings


def read_stored(path):
    """The recipe of a run folder. The modules that it names are not imported: a run may be a stranger's."""
    return make(read(path))


def _follow_extends(own, path, before=()):
    """The own settings of each file of a chain of `extends`, the extended ones first; `own` are those of `path`."""
    chain = (*before, path.resolve())
    if chain[-1] in before:
        circle = " -> ".join(str(each) for each in chain[chain.index(chain[-1]) :])
        raise ValueError(f"recipes extend each other in a circle: {circle}. Take one `extends` out.")
    if "extends" not in own:
        return [own]
    base = _find_base(path, own["extends"])
    return [*_follow_extends(read(base), base, chain), {key: value for key, value in own.items() if key != "extends"}]


def _find_base(path, base):
    """The file that `extends = base` in the file `path` means."""
    if not isinstance(base, str) or not base:
        raise ValueError(f"{path}: extends must be the name of a recipe or the path of a .toml; received {base!r}.")
    if base.endswith(".toml"):
        places = [path.parent / base]
    elif Path(base).name != base:
        raise ValueError(
            f"{path}: extends = {base!r} is neither the name of a recipe nor the path of a .toml. "
            f"Expected for example {Path(base).name!r} or {base + '.toml'!r}."
        )
    else:
        places = [path.with_name(f"{base}.toml"), CATALOGUE / f"{base}.toml"]
    existing = [each for each in places if each.is_file() and (len(places) == 1 or each.resolve() != path.resolve())]
    if not existing:
        missing = " nor ".join(str(each) for each in places)
        raise ValueError(
            f"{path} extends {base!r}, and there is no recipe {missing}.{table.hint(base, list_recipes())} "
            "Put the recipe beside the file, or name one of the zoo's (`seqzoo list`)."
        )
    return existing[0]


def combine_settings(layers):
    """The settings of files and overrides together, of which later ones win.

    A setting that a later layer leaves without effect is dropped, unless it had none where it was set. A warm-up keeps
    its share of the steps where a later layer has fewer steps and no warm-up.
    """
    states = [{}]
    for own in layers:
        states.append(_with_shorter_warmup(states[-1], merge(states[-1], own), own))
    settings, paths_of = states[-1], [_setting_paths(own) for own in layers]
    for path in idle_settings(settings):
        last = max((at for at, paths in enumerate(paths_of) if path in paths), default=None)
        if last is not None and last < len(layers) - 1 and path not in idle_settings(states[last + 1]):
            settings = table.without(settings, path)
    return {key: value for key, value in settings.items() if value != {} or key not in TABLES}


def _with_shorter_warmup(before, settings, own):
    """`settings` with a warm-up of the same share of the steps, if `own` shortens the training and has no warm-up."""
    new, old = _table(own, "training"), _table(before, "training")
    steps, warmup, fewer = old.get("steps", Training().steps), old.get("warmup", 0), new.get("steps")
    are_counts = all(type(each) is int and each > 0 for each in (steps, warmup, fewer))
    if "warmup" in new or not are_counts or fewer >= steps:
        return settings
    return merge(settings, {"training": {"warmup": warmup * fewer // steps}})


def _table(settings, where):
    own = settings.get(where, {})
    if isinstance(own, dict):
        return own
    return {TAGS[where]: own} if where in TAGS else {}  # it is no table, which reading it reports


def _setting_paths(settings):
    """`{(table, ..., setting)}` of all settings in the tables."""
    own = {where: _table(settings, where) for where in TABLES if where in settings}

    def inside(value, before):
        for name, each in value.items():
            yield (*before, name)
            if isinstance(each, dict):
                yield from inside(each, (*before, name))

    return {path for path in inside(own, ()) if len(path) > 1}


def idle_settings(settings):
    """`{(table, ..., setting)}` of the settings without effect; empty where `make` will refuse the settings as wrong.

    Layers do not count, for a layer that is named is wanted.
    """
    try:
        places = allowed_tables(settings)
        own = {where: _table(settings, where) for where in TABLES if where in settings}
        read = {where: table.select_read(places[where], own[where]) for where in own if where in places}
        unread = _setting_paths(own) - _setting_paths(read)
        recipe = read_settings({key: value for key, value in settings.items() if key not in own} | read)
        return unread | {tuple(each.split(".")) for each in useless_settings(recipe) if each not in SLOTS}
    except (KeyError, TypeError, ValueError):
        return set()


def merge(base, own):
    """`base` with the settings of `own`. A slot with another layer loses its settings; other tables keep theirs."""
    result = dict(base)
    for key, value in own.items():
        if key in TAGS and not isinstance(value, dict):
            value = {TAGS[key]: value} if value else {}
        old = result.get(key)
        if key == "imports" and isinstance(value, list) and isinstance(old, list):
            value = [*old, *(each for each in value if each not in old)]
        if not isinstance(value, dict) or old is None:
            result[key] = value
            continue
        old = _table(result, key) if key in TABLES else old
        is_other_layer = key in SLOTS and value.get("layer", old.get("layer")) != old.get("layer")
        result[key] = merge(old, value) if isinstance(old, dict) and not is_other_layer else value
    return result


def dumps(recipe):
    """The TOML text of a recipe, every setting spelt out."""
    return toml(plain(recipe))
