"""Recipes as TOML files, and settings as a command line gives them."""

import dataclasses
import json
import tomllib
from pathlib import Path
from typing import get_args

from zoo.recipes.effects import useless
from zoo.recipes.layers import SLOTS
from zoo.recipes.recipe import DEFAULTS, FIELDS, completed, hint, known, make, renamed

HERE = Path(__file__).parent


def parse(assignment):
    """("key", value) of a command line's "key=value", the value by the setting's type.

    "attention=lsh" fills a slot; "attention.rounds=4" is a setting of what is in it, read as TOML reads it.

    Raises:
        ValueError: there is no "=", the key is unknown or the value does not parse.
    """
    key, equals, text = assignment.partition("=")
    if not equals:
        raise ValueError(f"expected key=value, such as steps=100; received {assignment!r}.")
    slot, dot, setting = key.partition(".")
    if dot and slot in SLOTS:
        return slot, renamed({slot: {setting: _toml_value(text)}})[slot]
    key = next(iter(renamed({key: text})))
    known(key)
    if key in SLOTS:
        return key, text
    kind = str if get_args(FIELDS[key].type) else FIELDS[key].type
    try:
        value = {"true": True, "false": False}[text.lower()] if kind is bool else kind(text)
    except (KeyError, ValueError) as error:
        raise ValueError(f"{key} must be {kind.__name__}, received {text!r}.") from error
    return key, value


def _toml_value(text):
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text  # a word without quotation marks


def names():
    """The recipes that come with the zoo."""
    return sorted(path.stem for path in HERE.glob("*.toml"))


def load(name_or_path, overrides=()):
    """The recipe of a name, or of a TOML file, with "key=value" overrides applied.

    A file that begins with `extends = "NAME"` holds only what differs from NAME.toml, which lies beside it or else in
    the zoo; `extends` may be the path of a .toml, too, as seen from the file's folder. Numbers that the extended recipe
    gives, and for which what differs leaves no use, fall back to their defaults; what a file or an override says itself
    and has no effect is refused.

    Raises:
        ValueError: there is no such recipe, recipes extend each other in a circle, or it is wrong (see `make`,
            `parse`).
    """
    path = Path(name_or_path)
    if path.suffix != ".toml":
        if str(name_or_path) not in names():
            raise ValueError(
                f"unknown recipe {str(name_or_path)!r}.{hint(str(name_or_path), names())} Known recipes: "
                f"{', '.join(names())}; or give the path of a .toml file."
            )
        path = HERE / f"{name_or_path}.toml"
    if not path.is_file():
        raise ValueError(f"there is no recipe {path}.")
    given = {}
    for assignment in overrides:
        given = merged(given, dict([parse(assignment)]))
    return make(settled([*_layers(path), given]))


def read(path):
    """The settings of one file.

    Raises:
        ValueError: the file is not TOML, or cannot be read.
    """
    try:
        return renamed(tomllib.loads(path.read_text(encoding="utf-8")))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise ValueError(f"{path} is not TOML: {error}") from error


def _layers(path, before=()):
    """What each file of a chain of `extends` says itself, the extended ones first."""
    chain = (*before, path.resolve())
    if chain[-1] in before:
        circle = " -> ".join(str(each) for each in chain[chain.index(chain[-1]) :])
        raise ValueError(f"recipes extend each other in a circle: {circle}. Take one `extends` out.")
    own = read(path)
    if "extends" not in own:
        return [own]
    base = own.pop("extends")
    return [*_layers(_extended(path, base), chain), own]


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
        places = [path.with_name(f"{base}.toml"), HERE / f"{base}.toml"]
    found = [each for each in places if each.is_file() and (len(places) == 1 or each.resolve() != path.resolve())]
    if not found:
        looked = " nor ".join(str(each) for each in places)
        raise ValueError(
            f"{path} extends {base!r}, and there is no recipe {looked}.{hint(base, names())} "
            "Put the recipe beside the file, or name one of the zoo's (`seqzoo list`)."
        )
    return found[0]


def settled(layers):
    """The settings that files and overrides come to, one after the other.

    A number that had its effect where it was given, and lost it by what a later one says, falls away with it.
    """
    states = [{}]
    for own in layers:
        for key in own:
            known(key)
        states.append(merged(states[-1], own))
    settings = dict(states[-1])
    for name in _without_effect(settings):
        last = max((place for place, own in enumerate(layers) if name in own), default=None)
        inherited = last is not None and last < len(layers) - 1 and name not in (*SLOTS, "block")
        if inherited and name not in _without_effect(states[last + 1], otherwise=(name,)):
            del settings[name]
    return settings


def _without_effect(settings, otherwise=()):
    """The settings that have no effect; `otherwise` where they are too wrong to say, which `make` will tell."""
    try:
        return tuple(useless(completed(settings), DEFAULTS))
    except (KeyError, TypeError, ValueError):
        return otherwise


def merged(base, own):
    """`base` with `own` settings; a slot's table that names no layer goes on with the one that is there."""
    result = base | own
    for slot in SLOTS:
        before, after = base.get(slot, {}), own.get(slot)
        if isinstance(after, dict) and "layer" not in after:
            result[slot] = ({"layer": before} if isinstance(before, str) else before) | after
    return result


def dumps(recipe):
    """The TOML text of a recipe, every setting spelt out."""
    flat, tables = [], []
    for key, value in dataclasses.asdict(recipe).items():
        if isinstance(value, dict) and len(value) > 1:
            tables.append(f"\n[{key}]\n" + "".join(_line(*item) for item in value.items()))
        else:
            flat.append(_line(key, value["layer"] if isinstance(value, dict) else value))
    return "".join(flat + tables)


def _line(key, value):
    return f"{key} = {json.dumps(value, ensure_ascii=False)}\n"
