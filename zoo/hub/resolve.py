"""From the name of a model to its files: which hub has it, and which files are in the cache."""

import logging
import os
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from zoo.hub import cache, trust
from zoo.hub.base import HubError, Unreachable
from zoo.hub.download import Download, Progress
from zoo.hub.index import (
    MANIFEST,
    Entry,
    check_title,
    choose,
    nearest,
    read_manifest,
    run_files,
    split,
    title,
    weight_files,
)
from zoo.hub.keras_file import check_keras
from zoo.hub.places import is_offline, places, read_entries, unlocated_models

log = logging.getLogger("seqzoo.hub")


@dataclass(frozen=True)
class PublishedModel:
    """A version of a model, and the hub that has it."""

    entry: Entry
    place: Any
    offline: bool = False

    @property
    def folder(self) -> Path:
        """Where its files are, or will be: in a hub of this installation itself, else in the cache."""
        if self.place.own:
            return self.place.path / self.entry["name"] / str(self.entry["version"])
        return cache.folder(self.entry)


def find(name: str, version: int | None = None, *, offline: bool | None = None) -> PublishedModel:
    """The entry of a model, and its hub: the first of `zoo.hub.places()` that has the name (and the version).

    Args:
        name: a name, whose newest version that is not withdrawn is found, or "name@version".
        version: a number, or None.
        offline: whether the network may not be used; None asks SEQZOO_OFFLINE.

    Raises:
        ValueError: no hub has it; the message has the nearest names and lists the hubs.
        HubError: no hub has it, and some of them could not be asked.
    """
    name, number = split(name)
    version, offline = number if version is None else version, is_offline(offline)
    errors, known_entries, addresses = [], [], []
    for place in places():
        addresses.append(place.address)
        entries = []
        try:
            entries = _entries(place, name, version, offline)
        except HubError as error:
            errors.append(error)
            entries = _cached_entries(place)
        entry = choose(entries, name, version)
        if entry:
            for error in errors:
                log.warning("%s", error)
            return _check_withdrawn(PublishedModel(entry, place, offline), version)
        known_entries += entries
    raise _unknown(name, version, known_entries, addresses, errors)


def _entries(place, name, version, offline):
    """The entries of a hub, without the network if they answer the question: a version never changes."""
    if place.remote and version is not None and not offline:
        for entries in (_entries_of_cached_index(place), _cached_entries(place)):
            if choose(entries, name, version):
                return entries
    entries = read_entries(place, offline)
    if place.remote and not offline and not choose(entries, name, version):
        entries = read_entries(place, offline, fresh=0)  # published since the index was kept
    return entries


def _entries_of_cached_index(place):
    try:
        return read_entries(place, offline=True)
    except Unreachable:
        return []


def _cached_entries(place):
    """The entries that the cache has from a hub; none where indexes must be signed: these are unsigned."""
    return [] if trust.keys() else cache.entries(place.address)


def _check_withdrawn(model, version):
    reason = model.entry["withdrawn"]
    if reason is not None and version is None:
        raise ValueError(
            f"every version of {model.entry['name']!r} at {model.place.address} is withdrawn; the newest, "
            f"{title(model.entry)}, because: {reason} Ask for {title(model.entry)!r} to use it nevertheless."
        )
    if reason is not None:
        log.warning("%s was withdrawn: %s", title(model.entry), reason)
    return model


def _unknown(name, version, entries, addresses, errors):
    wanted = name if version is None else f"{name}@{version}"
    if errors:
        return HubError(
            f"the model {wanted!r} was not found. " + " ".join(f"{str(each).rstrip('.')}." for each in errors)
        )
    versions = sorted(each["version"] for each in entries if each["name"] == name)
    near = nearest(name, [each["name"] for each in entries])
    if versions:
        hint = f"it has the version{'s' if len(versions) > 1 else ''} {', '.join(map(str, versions))}"
    elif name in unlocated_models():
        hint = "it is in seqzoo's own hub, whose address is not known here: set SEQZOO_HUB to its folder or address"
    elif near:
        hint = f"did you mean {' or '.join(map(repr, near))}?"
    else:
        hint = "`seqzoo list` shows the models that are there" if entries else "there is none at all"
    where = f"looked in {', '.join(addresses)}; {hint}" if addresses else "no hub is known; SEQZOO_HUB names one"
    return ValueError(f"there is no model {wanted!r}: {where}")


def fetch(
    name: str,
    files: Iterable[str] | str | None = None,
    *,
    offline: bool | None = None,
    progress: Callable[[int, int], object] | Literal[False] | None = None,
) -> Path:
    """The folder that holds these files of a model, each with the SHA-256 that the index promises.

    What is in the cache already is checked and not downloaded again; without `name@version`, a hub on the network is
    asked for its index if that was not done in the last ten minutes.

    Args:
        name: "name" or "name@version".
        files: names of files, one name, or "all"; None are those that `serving.Runtime` needs to answer: manifest,
            tokenizers and one graph, the int8 one if the index says that it loses nothing.
        offline: whether the network may not be used; None asks SEQZOO_OFFLINE.
        progress: called as `progress(bytes that are there, total)`; None draws a bar on a terminal, False none.

    Raises:
        ValueError: no hub has the model, or the model has no such file.
        HubError: a file cannot be downloaded, or is not what the index promises. Nothing of it is visible then.
    """
    model = find(name, offline=offline)
    if files == "all":
        return fetch_files(model, list(model.entry["files"]), progress)
    if files is not None:
        return fetch_files(model, [files] if isinstance(files, str) else files, progress)
    fetch_files(model, [MANIFEST], progress=False)
    return fetch_files(model, default_files(model), progress)


def default_files(model: PublishedModel, precision: Literal["float32", "int8"] | None = None) -> list[str]:
    """The files that a run without options needs, by the manifest, which must have been fetched."""
    entry, files = model.entry, run_files(model.entry, precision)
    manifest = read_manifest(model.folder)
    try:
        graph = manifest.get("generation", {}).get(str(manifest.get("default_beam")))
        graph = graph or manifest.get("graphs", {}).get(entry["kind"], "")
        forms = [name for name in (graph, f"{graph.removesuffix('.onnx')}.int8.onnx") if name in entry["files"]]
    except (AttributeError, TypeError):
        return files
    if not forms:
        return files
    graph = forms[-1 if (entry["int8"] is True if precision is None else precision == "int8") else 0]
    return [*(name for name in files if not name.endswith(".onnx")), graph, *weight_files(manifest, graph)]


def fetch_files(
    model: PublishedModel, files: Iterable[str], progress: Callable[[int, int], object] | Literal[False] | None = None
) -> Path:
    """As `fetch`, of a model that `find` returned; files have their names alone."""
    entry, home, files = model.entry, model.folder, list(files)
    unknown = [name for name in files if name not in entry["files"]]
    if unknown:
        near = nearest(unknown[0], entry["files"])
        raise ValueError(
            f"{title(entry)} has no file {unknown[0]!r} in {model.place.address}; "
            + (
                f"did you mean {' or '.join(map(repr, near))}?"
                if near
                else f"it has {', '.join(sorted(entry['files']))}."
            )
        )
    if faults := cache.faults(home, entry, files):
        _download(model, faults, progress)
    check_title(home, entry)
    if not model.place.own:
        cache.remember(entry, model.place.address)
    return home


def _download(model, faults, progress):
    entry, home = model.entry, model.folder
    details = ", ".join(f"{name} ({fault})" for name, fault in faults.items())
    if model.place.own:
        raise HubError(f"{home} is damaged: {details}. Install seqzoo again, or restore the hub of the checkout.")
    if model.offline and model.place.remote:
        some = "" if MANIFEST in faults else f" --files {' '.join(faults)}"
        raise Unreachable(
            f"this process is offline (SEQZOO_OFFLINE or --offline), and the cache lacks files of {title(entry)}: "
            f"{details}. Run `seqzoo hub fetch {title(entry)}{some}` with a network first."
        )
    damaged = [name for name, fault in faults.items() if fault != "missing"]
    if damaged:
        log.warning("%s in the cache is damaged and is downloaded again: %s", title(entry), details)
    total = sum(entry["bytes"][name] for name in faults)
    _check_room(entry, faults)
    bar = Progress(" ".join([title(entry), *faults] if len(faults) == 1 else [title(entry)]), total, progress)
    try:
        for name in faults:
            size = entry["bytes"][name]
            path = f"{entry['name']}/{entry['version']}/{name}"
            Download(model.place, path, size, entry["files"][name], bar.begin_file(size)).to(home / name)
    finally:
        bar.end()


def _check_room(entry, files):
    """Refuse a download for which the disk is too small; the part of a file that has arrived needs no more room."""
    missing = sum(entry["bytes"][name] - _received_bytes(entry, name) for name in files)
    above = next(path for path in (cache.root(), *cache.root().parents) if path.exists())
    free = shutil.disk_usage(above).free
    if missing > free:
        raise HubError(
            f"{title(entry)} needs {missing / 1e6:,.1f} MB more, and {above} has {free / 1e6:,.1f} MB left. Free some "
            "space, or set SEQZOO_CACHE to a folder on another disk. Nothing of that was downloaded."
        )


def _received_bytes(entry, name):
    try:
        return min(entry["bytes"][name], cache.partial_file(entry["files"][name]).stat().st_size)
    except OSError:
        return 0


def is_path(name: str | os.PathLike[str]) -> bool:
    """Whether `name` means a folder: it is one, or is written as only a path is."""
    text = os.fspath(name)
    separators = [each for each in (os.sep, os.altsep) if each]
    return (
        not isinstance(name, str)
        or os.path.exists(text)
        or text[:1] in (".", "~")
        or any(each in text for each in separators)
    )


def path(name: str | os.PathLike[str], file: str = "model.keras") -> Path:
    """The path of a file of a model, which is downloaded if need be: `keras.models.load_model(zoo.path("dates"))`.

    Args:
        name: "name" or "name@version" of a model in a hub, or the folder of an artefact; a folder that exists wins.
        file: the name of the file.

    Raises:
        ValueError: there is no such model or folder, or it has no such file.
        HubError: the file cannot be downloaded.
    """
    if not is_path(name):
        return fetch(name, [MANIFEST, file]) / file  # the manifest says whose file it is
    whole = Path(name) / file
    if not whole.is_file():
        raise ValueError(
            f"there is no {whole}: expected the folder of an artefact that holds {file}, or a model's name."
        )
    return whole


def load(name: str | os.PathLike[str]) -> Any:
    """The Keras model of that name (or in the folder of an artefact), loaded in safe mode.

    Raises:
        ImportError: Keras is not installed.
        UnsafeError: the file asks for more than layers of Keras and of the zoo (`zoo.hub.keras_file`).
        ValueError, HubError: as of `path`.
    """
    try:
        import keras
    except ImportError as error:
        message = (
            "zoo.load gives a Keras model: pip install 'seqzoo[tensorflow]' (or 'seqzoo[jax]', with KERAS_BACKEND=jax)"
        )
        raise ImportError(f"{message}. serving.Runtime needs no framework.", name="keras") from error

    file = path(name)
    check_keras(file)
    return keras.models.load_model(file, safe_mode=True)
