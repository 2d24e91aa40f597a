"""Recipes as TOML files, and settings as a command line gives them."""

import re
import tomllib
from pathlib import Path

import msgspec

from zoo.recipes import carried
from zoo.recipes.mixes import useless
from zoo.recipes.recipe import TABLES, TEXTS, Recipe, allowed, homes, make, modules, plain, read_settings
from zoo.recipes.toml import toml
from zoo.settings import occupants, table
from zoo.settings.slots import SLOTS
from zoo.settings.training import Training
from zoo.tasks.parts import corpora

CATALOGUE = Path(__file__).parents[1] / "catalogue"  # the recipes that come with the zoo, and their scores
SPLIT_WORDS = {"train", "training", "data", "examples", ""}  # which do not tell one file from another
LONGEST_NAME = 40
TAGS = {"data": "corpus", "model": "kind", "loss": "kind"} | dict.fromkeys(SLOTS, "layer")


def parse(assignment):
    """The tables of a command line's "table.key=value": `{"training": {"steps": 100}}`.

    The value is read as TOML reads it; what is no TOML is a text without quotation marks. The name of a table that has
    a choice chooses: "attention=lsh".

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
        where = tuple(key.split("."))
    elif first in TAGS:
        where = (first, TAGS[first])
    elif key in (*TEXTS, "extends", "imports"):
        return {key: _value(text) if key == "imports" else text}
    else:
        raise ValueError(
            f"unknown setting {key!r}.{homes(key)} Expected table.key, where the table is one of {', '.join(TABLES)}."
        )
    value = _value(text)
    for name in reversed(where):
        value = {name: value}
    return value


def _value(text):
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
    return value if isinstance(value, bool | int | float | str | list | dict) else text  # a date is a text here


def names():
    """The recipes that come with the zoo."""
    return sorted(path.stem for path in CATALOGUE.glob("*.toml"))


def load(recipe, overrides=(), imports=()):
    """The recipe of a name, of a TOML file or of a dict of tables, with overrides applied.

    A file that begins with `extends = "NAME"` holds only what differs from NAME.toml, which lies beside it or else in
    the zoo; `extends` may be the path of a .toml, too, as seen from the file's folder. Settings that the extended
    recipe gives, and for which what differs leaves no use, fall away; what a file or an override says itself and has no
    effect is refused.

    Args:
        recipe: a name that `names` has, the path of a .toml, or of a checkpoint, which holds its recipe, a dict as TOML
            reads one (its `extends` is seen from the working folder), or a `Recipe`.
        overrides: each "table.key=value", or a dict of tables.
        imports: modules that bring layers of one's own (`zoo.register`), from the working folder, too. Those that the
            recipe names are imported where they are installed.

    Raises:
        ValueError: there is no such recipe, recipes extend each other in a circle, or it is wrong (see `make`,
            `parse`).
    """
    given = merged({"imports": list(imports)} if imports else {}, overridden(overrides))
    told = _read_layers(recipe)
    occupants.bring(imports)
    for each in [given] if isinstance(recipe, Recipe) else [*told, given]:
        occupants.bring_named(modules(each))
    return make(settled([*told, given]))


def load_for_training(recipe, overrides=(), imports=(), data=None):
    """As `load`; what is trained on files that the recipe does not name itself has their name behind its own.

    So one recipe trained on two languages makes two models, and not two versions of one. A name among the overrides
    stays.

    Args:
        recipe, overrides, imports: as of `load`.
        data: where the data lie, as of `zoo.train`.
    """
    overrides = list(overrides)  # which an iterator gives once
    chosen, base = load(recipe, overrides, imports), _read_layers(recipe)
    if "name" in overridden(overrides) or isinstance(data, dict) or carried.is_checkpoint(recipe):
        return chosen
    files = _listed(getattr(corpora.trained_on(chosen, data)[0].data, "train", ""))
    told = settled(base).get("data", {})
    if not files or files == _listed(told.get("train", "") if isinstance(told, dict) else ""):
        return chosen
    return msgspec.structs.replace(chosen, name=f"{chosen.name}-{_name_of(files[0])}")


def _listed(paths):
    return [each for each in ([paths] if isinstance(paths, str) else list(paths)) if each]


def _name_of(path):
    """What tells a file of examples from others: "vie" of vie_train.tsv, or the folder's name of vie/train.tsv."""
    place = Path(path.removeprefix("hf://").partition(":")[0] if path.startswith("hf://") else path).resolve()
    for part in (place.name if place.is_dir() else place.name.partition(".")[0], place.parent.name, "data"):
        words = [each for each in re.split(r"[\W_]+", part) if each.lower() not in SPLIT_WORDS]
        if "".join(words):
            return "-".join(filter(None, words))[:LONGEST_NAME]
    return "data"


def overridden(overrides):
    """The tables that overrides come to, one after the other; each is "table.key=value", or a dict of tables."""
    given = {}
    for each in overrides:
        given = merged(given, parse(each) if isinstance(each, str) else each)
    return given


def _read_layers(recipe):
    """The settings of what `load` takes, the extended ones first."""
    if isinstance(recipe, Recipe):
        return [plain(recipe)]
    if isinstance(recipe, dict):
        return _layers(recipe, Path("this recipe"))
    path = Path(recipe)
    if path.suffix not in (".toml", carried.SUFFIX):
        if str(recipe) not in names():
            raise ValueError(
                f"unknown recipe {str(recipe)!r}.{table.hint(recipe, names())} `seqzoo list` shows those of the zoo; "
                "one of your own is named by the path of its .toml file."
            )
        path = CATALOGUE / f"{recipe}.toml"
    if not path.is_file() and not carried.is_checkpoint(path):
        raise ValueError(
            f"there is no recipe {path}. Write one with `seqzoo new TASK DATA --out {path}`, "
            "or name one of the zoo's (`seqzoo list`)."
        )
    return _layers(read(path), path)


def read(path):
    """The settings of one file, in tables; of a checkpoint, which holds its recipe, those of it.

    Raises:
        ValueError: the file is not TOML, or cannot be read; or the checkpoint is none.
    """
    try:
        text = carried.recipe_of(path).decode() if carried.is_checkpoint(path) else path.read_text(encoding="utf-8-sig")
        settings = tomllib.loads(text)
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}. Expected a recipe that may be read.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not TOML: {error}") from error
    return settings


def read_stored(path):
    """The recipe of a run folder. The modules that it names are not imported: a run may be a stranger's."""
    return make(read(path))


def _layers(own, path, before=()):
    """What each file of a chain of `extends` says itself, the extended ones first; `own` are the settings of `path`."""
    chain = (*before, path.resolve())
    if chain[-1] in before:
        circle = " -> ".join(str(each) for each in chain[chain.index(chain[-1]) :])
        raise ValueError(f"recipes extend each other in a circle: {circle}. Take one `extends` out.")
    if "extends" not in own:
        return [own]
    base = _extended(path, own["extends"])
    return [*_layers(read(base), base, chain), {key: value for key, value in own.items() if key != "extends"}]


def _extended(path, base):
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
        looked = " nor ".join(str(each) for each in places)
        raise ValueError(
            f"{path} extends {base!r}, and there is no recipe {looked}.{table.hint(base, names())} "
            "Put the recipe beside the file, or name one of the zoo's (`seqzoo list`)."
        )
    return existing[0]


def settled(layers):
    """The settings that files and overrides come to, one after the other.

    A setting that had its effect where it was given, and lost it by what a later one says, falls away with it. A
    warm-up keeps its share of the steps where a later one says fewer steps and no warm-up.
    """
    states = [{}]
    for own in layers:
        states.append(_with_shorter_warmup(states[-1], merged(states[-1], own), own))
    settings, given = states[-1], [_paths(own) for own in layers]
    for path in idle(settings):
        last = max((at for at, paths in enumerate(given) if path in paths), default=None)
        if last is not None and last < len(layers) - 1 and path not in idle(states[last + 1]):
            settings = table.without(settings, path)
    return {key: value for key, value in settings.items() if value != {} or key not in TABLES}


def _with_shorter_warmup(before, settings, own):
    """`settings` with a warm-up of the same share of the steps, if `own` shortens the training and says no warm-up."""
    said, told = _table(own, "training"), _table(before, "training")
    steps, warmup, fewer = told.get("steps", Training().steps), told.get("warmup", 0), said.get("steps")
    whole = all(type(each) is int and each > 0 for each in (steps, warmup, fewer))
    if "warmup" in said or not whole or fewer >= steps:
        return settings
    return merged(settings, {"training": {"warmup": warmup * fewer // steps}})


def _table(settings, where):
    own = settings.get(where, {})
    if isinstance(own, dict):
        return own
    return {TAGS[where]: own} if where in TAGS else {}  # which is no table, as is told where it is read


def _paths(settings):
    """`{(table, ..., setting)}` of all that the tables say."""
    own = {where: _table(settings, where) for where in TABLES if where in settings}

    def inside(value, before):
        for name, each in value.items():
            yield (*before, name)
            if isinstance(each, dict):
                yield from inside(each, (*before, name))

    return {path for path in inside(own, ()) if len(path) > 1}


def idle(settings):
    """`{(table, ..., setting)}` without effect in these settings; none where they are too wrong to say, `make` tells.

    Layers are named because they are asked for, so they do not count.
    """
    try:
        places = allowed(settings)
        own = {where: _table(settings, where) for where in TABLES if where in settings}
        read = {where: table.readable(places[where], own[where]) for where in own if where in places}
        unread = _paths(own) - _paths(read)
        recipe = read_settings({key: value for key, value in settings.items() if key not in own} | read)
        return unread | {tuple(each.split(".")) for each in useless(recipe) if each not in SLOTS}
    except (KeyError, TypeError, ValueError):
        return set()


def merged(base, own):
    """`base` with `own` settings. A slot with another layer begins anew, other tables go on with what they have."""
    result = dict(base)
    for key, value in own.items():
        if key in TAGS and not isinstance(value, dict):
            value = {TAGS[key]: value} if value else {}
        before = result.get(key)
        if key == "imports" and isinstance(value, list) and isinstance(before, list):
            value = [*before, *(each for each in value if each not in before)]
        if not isinstance(value, dict) or before is None:
            result[key] = value
            continue
        before = _table(result, key) if key in TABLES else before
        anew = key in SLOTS and value.get("layer", before.get("layer")) != before.get("layer")
        result[key] = value if anew else merged(before, value) if isinstance(before, dict) else value
    return result


def dumps(recipe):
    """The TOML text of a recipe, every setting spelt out."""
    return toml(plain(recipe))
