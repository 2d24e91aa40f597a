"""Recipes as TOML files, and settings as a command line gives them."""

import dataclasses
import json
import tomllib
from pathlib import Path
from typing import get_args

from zoo.recipes.recipe import FIELDS, SLOTS, hint, known, make

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
        return slot, {setting: _toml_value(text)}
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

    A file that begins with `extends = "NAME"` holds only what differs from NAME.toml beside it.

    Raises:
        ValueError: there is no such recipe, or it is wrong (see `make`, `parse`).
    """
    path = Path(name_or_path)
    if path.suffix != ".toml":
        if str(name_or_path) not in names():
            raise ValueError(
                f"unknown recipe {str(name_or_path)!r}.{hint(str(name_or_path), names())} Known recipes: "
                f"{', '.join(names())}; or give the path of a .toml file."
            )
        path = HERE / f"{name_or_path}.toml"
    try:
        settings = _settings(path)
        for assignment in overrides:
            settings = _merged(settings, dict([parse(assignment)]))
        return make(settings)
    except FileNotFoundError as error:
        raise ValueError(f"there is no recipe {error.filename}.") from error


def _settings(path):
    """What a file says; `extends = "NAME"` begins with what NAME.toml beside it says."""
    try:
        own = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not TOML: {error}") from error
    base = own.pop("extends", None)
    _rename(own)
    return own if base is None else _merged(_settings(path.with_name(f"{base}.toml")), own)


def _rename(settings):
    """Give settings of files of version 0.1.0 their present names, in place."""
    depth = settings.get("depth")
    if isinstance(depth, dict) and "memory" in depth:
        depth["activations"] = depth.pop("memory")


def _merged(base, own):
    """`base` with `own` settings; a slot's table that names no layer goes on with the one that is there."""
    merged = base | own
    for slot in SLOTS:
        before, after = base.get(slot, {}), own.get(slot)
        if isinstance(after, dict) and "layer" not in after:
            merged[slot] = ({"layer": before} if isinstance(before, str) else before) | after
    return merged


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
