"""The index of a hub: which models it has, and of each version the files with their sizes and SHA-256.

The format is `index.schema.json`, beside this file. An index is read as a whole or refused as a whole: a hub with one
entry that does not hold is a hub that somebody has to mend. Keys that this version does not know are left alone.
"""

import datetime
import difflib
import functools
import json
import re
from importlib import resources
from typing import TypedDict

from zoo.hub.checker import Mismatch, check, mismatch

FORMAT = 1
INDEX = "index.json"
MANIFEST = "manifest.json"
SIGNATURE = "model.sig"  # of all other files of a version, if it is signed
MOST_BYTES = 2**24  # of an index


class Entry(TypedDict):
    """One version of a model, as it stands in the index; docs/hub.md has the meaning of each key."""

    name: str
    version: int
    system: str
    cell: str | None
    attention: str | None
    feedforward: str | None
    block: str | None
    depth: str | None
    task: str
    kind: str
    languages: list[str]
    description: str
    licence: str
    data: str
    data_licence: str | list[str]
    attribution: str
    parameters: int
    bytes: dict[str, int]
    files: dict[str, str]
    scores: dict
    parity: dict[str, float]
    int8: bool | None
    speed: dict | None
    requires: dict[str, str]
    published: str
    withdrawn: str | None


@functools.cache
def schema():
    """The JSON Schema of an index, a dict."""
    return json.loads(resources.files("zoo.hub").joinpath("index.schema.json").read_text(encoding="utf-8"))


def parse(content):
    """The checked index in `content`, the bytes of `index.json`.

    Raises:
        Mismatch: it is no JSON, or does not fit; the message says what was expected and what was received.
    """
    if len(content) > MOST_BYTES:
        raise Mismatch(f"the index must have at most {MOST_BYTES:,} bytes; received more")
    try:
        index = json.loads(content.decode("utf-8"), object_pairs_hook=_once, parse_constant=_no_constant)
    except RecursionError:
        raise Mismatch("the index must be JSON; received something that is nested too deeply") from None
    except ValueError as error:  # also what is not UTF-8
        raise Mismatch(f"the index must be JSON; received {content[:40]!r}, and reading it failed: {error}") from None
    return checked(index)


def _once(pairs):
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {next(key for key in keys if keys.count(key) > 1)!r} occurs twice in one object")
    return found


def _no_constant(name):
    raise ValueError(f"{name} is not a number in JSON")


def checked(index):
    """The index, after a check against the schema and of what a schema cannot say.

    Raises:
        Mismatch: it does not fit, has a version of a model twice, or an entry of it does not agree with itself.
    """
    check(index, schema())
    if "signed" in index:
        try:
            datetime.datetime.fromisoformat(index["signed"]["date"])
        except ValueError:
            raise mismatch("index.signed.date", "a day of the calendar", index["signed"]["date"]) from None
    seen = set()
    for number, entry in enumerate(index["models"]):
        place = f"models[{number}] ({title(entry)})"
        if title(entry) in seen:
            raise Mismatch(f"{place} occurs twice; a version is published once and never changed")
        seen.add(title(entry))
        check_files(entry, place)
    return index


def check_files(entry, place):
    """Check that `files` and `bytes` of an entry agree, and that all the files can lie in one folder on any system.

    Raises:
        Mismatch: they do not, or there is no manifest among them.
    """
    files = entry["files"].keys()
    if files != entry["bytes"].keys():
        raise mismatch(f"{place}.bytes", "of the same files as `files`", sorted(files ^ entry["bytes"].keys()))
    if MANIFEST not in files:
        raise mismatch(f"{place}.files", f"a list with {MANIFEST}", sorted(files))
    folders = {"/".join(parts[:end]) for name in files for parts in [name.split("/")] for end in range(1, len(parts))}
    names = [name.lower() for name in (*files, *folders)]
    if len(set(names)) < len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise Mismatch(f"{place}.files has names that are one file where upper and lower case are one: {twice}")


def title(entry):
    """`name@version`."""
    return f"{entry['name']}@{entry['version']}"


def split(name):
    """`(name, version)` of "name" (version None) or "name@version".

    Raises:
        ValueError: it is neither.
    """
    model, mark, number = name.partition("@")
    sound = re.search(schema()["$defs"]["name"]["pattern"], model)
    if not sound or mark and not re.fullmatch(r"[1-9][0-9]{0,6}", number):
        raise ValueError(
            f"{name!r} is not the name of a model: expected a name that `seqzoo list` shows, in small letters, such as "
            "dates, or a name with a version, such as dates@2."
        )
    return model, int(number) if mark else None


def choose(entries, name, version=None):
    """The entry of a name among `entries`: of this version, or else the newest that is not withdrawn; or None.

    A version that is asked for by its number is given even if it was withdrawn. If every version was withdrawn, the
    newest of them stands for the name, so that its reason can be told.
    """
    found = [each for each in entries if each["name"] == name and version in (None, each["version"])]
    kept = [each for each in found if each["withdrawn"] is None]
    return max(kept or found, key=lambda each: each["version"], default=None)


def nearest(name, names):
    """Up to three of `names` that resemble `name`, the nearest first."""
    return difflib.get_close_matches(name, sorted(set(names)), n=3, cutoff=0.6)


def run_files(entry, precision=None):
    """The names of the files that a run with no options needs: manifest, tokenizers and the graph that answers.

    Args:
        entry: an entry.
        precision: "float32" or "int8"; None is int8 where the entry says that it loses nothing, else float32.
    """
    forms = {name: f"{name.removesuffix('.onnx')}.int8.onnx" for name in ("model.onnx", "greedy.onnx")}
    graph = next((name for name in forms if {name, forms[name]} & entry["files"].keys()), None)
    light = forms.get(graph)
    wanted = entry["int8"] is True or graph not in entry["files"] if precision is None else precision == "int8"
    if light in entry["files"] and wanted:
        graph = light
    spm = sorted(name for name in entry["files"] if name.endswith(".spm") and "/" not in name)
    return [MANIFEST, *spm, *([graph] if graph else [])]
