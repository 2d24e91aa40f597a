"""Checks hubs as a whole, and whether this installation can run the models in the cache."""

import os
import re

from zoo.core import later
from zoo.hub import cache
from zoo.hub.base import HubError
from zoo.hub.index import INDEX, check_title, title
from zoo.hub.places import is_offline, place, places, read_index
from zoo.hub.trust import KEYS, dates, keys


def validate(address=None):
    """`[{"address", "models", "checked", "wrong"}]` of the hub at `address`, or of every known one.

    In a hub in a folder every file is compared with its size and its SHA-256, and files that the index does not list
    are reported; of a hub on the network the index is checked.

    Raises:
        ValueError: `address` is not the address of a hub.
    """
    return [_validate(hub) for hub in ([place(address)] if address else places())]


def _validate(hub):
    report = {"address": hub.address, "models": 0, "checked": "checked: the index alone", "wrong": []}
    try:
        index = read_index(hub, is_offline(), fresh=0)
    except HubError as error:
        return report | {"wrong": [str(error)]}
    entries = index["models"]
    report["models"] = len(entries)
    report["checked"] = f"checked: the index, {_describe_signature(hub, index)}models and versions: {len(entries)}"
    if not hub.remote:
        report["checked"] += f", files: {sum(len(entry['files']) for entry in entries)}"
        faults = (fault for entry in entries for fault in _faults(hub.path, entry))
        report["wrong"] = [*faults, *_unlisted_files(hub.path, entries)]
    return report


def _describe_signature(hub, index):
    """How the signature of an index was checked, in words; "" where it has none."""
    if "signed" not in index:
        return ""
    date, end = dates(index)
    signature = "its signature" if keys() and not hub.own else f"not its signature, as {KEYS} names no key"
    return f"{signature} ({date:%Y-%m-%d} to {end:%Y-%m-%d}), "


def _faults(home, entry):
    """What is wrong with the files of an entry, in words."""
    folder = home / entry["name"] / str(entry["version"])
    try:
        check_title(folder, entry)
    except HubError as error:
        yield str(error)
    faults = cache.faults(folder, entry)
    for name in sorted(entry["files"]):
        path = (folder / name).resolve()
        if name not in faults and not path.is_relative_to(home.resolve()):
            faults[name] = f"a link that leads out of the hub, to {path}"
        if name in faults:
            yield f"{title(entry)}: {name}: {faults[name]}"


def _unlisted_files(home, entries):
    """Files in the hub that its index does not list, and so nobody can fetch."""
    listed = {f"{entry['name']}/{entry['version']}/{name}" for entry in entries for name in entry["files"]} | {INDEX}
    files = {
        os.path.relpath(os.path.join(folder, name), home).replace(os.sep, "/")
        for folder, _, names in os.walk(home)
        for name in names
    }
    # Files beside the index, in the folder of the hub itself, are not the hub's.
    return [f"{path}: not in the index" for path in sorted(files - listed) if "/" in path]


def validate_cached():
    """`[{"name", "version", "problems"}]` of the models in the cache: why this installation cannot run each of them."""
    return [
        {"name": entry["name"], "version": entry["version"], "problems": problems(entry)} for entry in cache.entries()
    ]


def problems(entry):
    """Why this installation cannot run the model of an entry, in sentences; empty if it can.

    Keras and TensorFlow are needed for `model.keras` alone, so it counts only if they are installed and too old.
    """
    messages, folder = [], cache.folder(entry)
    for package, wanted in sorted(entry["requires"].items()):
        version = later.installed_version(package)
        if version is None:
            if package in ("seqzoo", "onnxruntime"):
                messages.append(f"it needs {package}{wanted}, which is not installed")
        elif _release_numbers(version) < _release_numbers(wanted):
            messages.append(f"it needs {package}{wanted}, and {version} is installed: pip install '{package}{wanted}'")
    for name, fault in cache.faults(folder, entry).items():
        if fault != "missing":
            messages.append(f"{name}: {fault}; the next `seqzoo hub fetch {title(entry)}` mends it")
    if entry["withdrawn"] is not None:
        messages.append(f"it was withdrawn: {entry['withdrawn']}")
    return messages


def _release_numbers(version):
    """The first three numbers of a version, to compare it."""
    return tuple(int(number) for number in [*re.findall(r"\d+", version), 0, 0, 0][:3])
