"""The index of a hub: which models it has, and of each version the files with their sizes and SHA-256; and manifests.

An index is read as a whole or refused as a whole: a hub with one invalid entry is a hub that somebody has to mend. Keys
that this version does not know are ignored. `python -m zoo.hub.index` prints its JSON Schema, which is
stored in docs/index.schema.json.

A manifest is the one file that has the name and the number of the version that it describes, and signatures cover it.
So it exposes an index that gives a version another name or number.
"""

import datetime
import difflib
import json
import re
from typing import Annotated, Literal, NotRequired, TypedDict

from msgspec import Meta

from zoo.core import documents
from zoo.core.documents import Mismatch, mismatch, text, whole
from zoo.hub.base import HubError, open_regular

FORMAT = 1
INDEX = "index.json"
MANIFEST = "manifest.json"
SIGNATURE = "model.sig"  # of all other files of a version, if it is signed
MOST_BYTES = 2**24  # of an index, and of a manifest


NAME = "[a-z0-9](?:[a-z0-9._-]{0,98}[a-z0-9])?"
PART = "[A-Za-z0-9_][A-Za-z0-9._+-]{0,127}"
MANY = {"min_length": 1, "max_length": 1000}

Name = text("a name of lower-case letters, digits, '.', '_' and '-', at most 100 characters", NAME)
File = text(
    "a relative path of letters, digits, '.', '_', '+' and '-' with forward slashes, no part of which begins with '.'",
    rf"{PART}(?:/{PART}){{0,7}}",
)
Sha256 = text("the 64 hexadecimal digits of a SHA-256, in lower case", "[0-9a-f]{64}")
Word = text("a short name in ASCII", "[A-Za-z0-9][A-Za-z0-9 ._+/-]{0,99}")
WordOrNull = Annotated[Word | None, Meta(description="a short name in ASCII, or null")]
Text = text(
    "a text without control characters, at most 10000 characters",
    r"[^\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]{0,10000}",
)
Reason = text("a text in one line, at most 1000 characters", r"[^\x00-\x1f\x7f-\x9f\ud800-\udfff]{1,1000}")
Licence = text("an SPDX licence expression such as CC-BY-4.0", "[A-Za-z0-9(][A-Za-z0-9.+:() -]{0,199}")
Language = text("a language code such as de or zh-Hans", "[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8}){0,8}")
Oldest = text("the oldest version, such as >=1.24", r">=[0-9]{1,6}(?:\.[0-9]{1,6}){0,3}")
Day = text("a date such as 2026-11-22", "[0-9]{4}-[0-9]{2}-[0-9]{2}")
MONTH, HOUR = "(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])", "(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
Time = text("a time in UTC such as 2026-11-25T15:00:00.000000Z", f"20[0-9]{{2}}-{MONTH}T{HOUR}[.][0-9]{{6}}Z")
Count = whole(what="a whole number of at least 0")
Size = whole(0, 2**36, "a whole number of bytes, at most 64 GiB")
# msgspec 0.22 writes beyond its memory where a union holds a list and a text with a pattern: `check_index` does these.
Numbers = Annotated[list[float], Meta(max_length=1000)]
Score = Annotated[
    float | bool | None | str | Numbers,
    Meta(description="a number, a text, true, false, null, or a list of numbers"),
]
Elsewhere = Annotated[
    dict[str, dict[str, Annotated[float | Numbers, Meta(description="a number, or an interval")]]],
    Meta(max_length=100, description="an object of scores for each of at most 100 names of other examples"),
]
Licences = Annotated[list[Licence], Meta(min_length=1, max_length=100)]


class Parity(TypedDict):
    """How far the exported forms are from the Keras model."""

    max_abs_diff: float
    tolerance: float
    sensitivity: NotRequired[float]


class Speed(TypedDict):
    """Milliseconds for an answer, and of which form on which processor."""

    milliseconds: Annotated[float, Meta(ge=0)]
    batch: Count
    precision: Word
    processor: Text


class Entry(TypedDict):
    """One version of a model, as it stands in the index; docs/hub.md has the meaning of each key."""

    name: Name
    version: whole(1, 10**6)
    system: Word
    cell: WordOrNull
    attention: WordOrNull
    feedforward: WordOrNull
    block: WordOrNull
    depth: WordOrNull
    task: Word
    kind: Word
    languages: Annotated[list[Language], Meta(max_length=500, description="a list of language codes")]
    description: Text
    licence: Licence
    data: Text
    data_licence: Annotated[str | Licences, Meta(description="an SPDX licence expression, or a list of at least one")]
    attribution: Text
    parameters: Count
    bytes: Annotated[dict[File, Size], Meta(**MANY, description="an object with the bytes of 1 to 1000 files")]
    files: Annotated[dict[File, Sha256], Meta(**MANY, description="an object with the SHA-256 of 1 to 1000 files")]
    scores: Annotated[dict[str, Score], Meta(description="an object of scores")]
    parity: Annotated[Parity, Meta(description="an object with max_abs_diff and tolerance")]
    int8: Annotated[bool | None, Meta(description="true, false or null")]
    speed: Annotated[
        Speed | None, Meta(description="an object with milliseconds, batch, precision and processor, or null")
    ]
    requires: Annotated[dict[str, Oldest], Meta(description="an object of packages and their oldest versions")]
    published: Day
    elsewhere: NotRequired[Elsewhere]
    withdrawn: Annotated[Reason | None, Meta(description="null, or the reason in one line")]


class Signed(TypedDict):
    """When the index was signed, for how many days, and with which signature."""

    date: Time
    days: whole(1, 3650)
    signature: text("a signature in base64", "[A-Za-z0-9+/]{1,300}={0,2}")


class Index(TypedDict):
    """`index.json`."""

    format: Annotated[Literal[1], Meta(description="1, the format of the index that this reader knows")]
    models: Annotated[list[Entry], Meta(max_length=10_000, description="a list of at most 10000 models")]
    signed: NotRequired[Signed]


def parse(content):
    """The checked index in `content`, the bytes of `index.json`.

    Raises:
        Mismatch: it is no JSON, or does not fit; the message says what was expected and what was received.
    """
    if len(content) > MOST_BYTES:
        raise Mismatch(f"the index must have at most {MOST_BYTES:,} bytes; received more")
    try:
        index = documents.parse(content)
    except ValueError as error:
        raise Mismatch(f"the index must be JSON; received {content[:40]!r}, and reading it failed: {error}") from None
    return check_index(index)


def check_index(index):
    """Check an index against its schema and against what a schema cannot say, and return it.

    Raises:
        Mismatch: it does not fit, has a version of a model twice, or an entry of it does not agree with itself.
    """
    documents.check(index, Index, "index")
    if "signed" in index:
        try:
            datetime.datetime.fromisoformat(index["signed"]["date"])
        except ValueError:
            raise mismatch("index.signed.date", "a day of the calendar", index["signed"]["date"]) from None
    titles = set()
    for number, entry in enumerate(index["models"]):
        place = f"models[{number}] ({title(entry)})"
        if title(entry) in titles:
            raise Mismatch(f"{place} occurs twice; a version is published once and never changed")
        titles.add(title(entry))
        texts = {"data_licence": (entry["data_licence"], Licence)}
        texts |= {f"scores.{name}": (score, Text) for name, score in entry["scores"].items()}
        for key, (value, form) in texts.items():
            if isinstance(value, str):
                documents.check(value, form, f"{place}.{key}")
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
    if not re.fullmatch(NAME, model) or mark and not re.fullmatch(r"[1-9][0-9]{0,6}", number):
        raise ValueError(
            f"{name!r} is not the name of a model: expected a name that `seqzoo list` shows, in small letters, such as "
            "dates, or a name with a version, such as dates@2."
        )
    return model, int(number) if mark else None


def choose(entries, name, version=None):
    """The entry of a name among `entries`: of this version, or else the newest that is not withdrawn; or None.

    A version that is asked for by its number is given even if it was withdrawn. If every version was withdrawn, the
    newest of them is returned, so that a message can give its reason.
    """
    versions = [each for each in entries if each["name"] == name and version in (None, each["version"])]
    available = [each for each in versions if each["withdrawn"] is None]
    return max(available or versions, key=lambda each: each["version"], default=None)


def nearest(name, names):
    """Up to three of `names` that resemble `name`, the nearest first."""
    return difflib.get_close_matches(name, sorted(set(names)), n=3, cutoff=0.6)


def run_files(entry, precision=None):
    """The names of the files that a run without options needs: manifest, tokenizers and the graph that answers.

    Args:
        entry: an entry.
        precision: "float32" or "int8"; None is int8 where the entry says that it loses nothing, else float32.
    """
    forms = {name: f"{name.removesuffix('.onnx')}.int8.onnx" for name in ("model.onnx", "greedy.onnx")}
    graph = next((name for name in forms if {name, forms[name]} & entry["files"].keys()), None)
    int8_graph = forms.get(graph)
    prefers_int8 = entry["int8"] is True or graph not in entry["files"] if precision is None else precision == "int8"
    if int8_graph in entry["files"] and prefers_int8:
        graph = int8_graph
    spm = sorted(name for name in entry["files"] if name.endswith(".spm") and "/" not in name)
    return [MANIFEST, *spm, *([graph] if graph else [])]


def read_manifest(folder):
    """The manifest in a folder, a dict, without a check of its content; an empty one where it is no JSON object.

    `serving.Runtime` refuses an invalid one when it opens the artefact.
    """
    try:
        with open_regular(folder / MANIFEST) as file:
            value = json.loads(file.read(MOST_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def weight_files(manifest, graph):
    """The names of the files, one or none, that hold the weights of a graph beside it, as those of a large network."""
    try:
        return [manifest["onnx"][graph]["weights"]]
    except (KeyError, TypeError):
        return []


def check_title(folder, entry):
    """Refuse files that are another model, or another version, than the index says, if their manifest is there.

    Raises:
        HubError: the manifest has another name or number.
    """
    manifest = read_manifest(folder)
    stated = {key: manifest.get(key, entry[key]) for key in ("name", "version")}
    if stated != {key: entry[key] for key in stated}:
        raise HubError(
            f"the files of {title(entry)} are those of {title(stated)}, as their manifest says: somebody gave them "
            "another place in the index. They are not used. Tell the hub's owner; `seqzoo hub validate` checks a hub "
            "in a folder."
        )


if __name__ == "__main__":
    print(json.dumps(documents.json_schema(Index, "index.json of a hub of seqzoo models"), indent=2))
