"""The folder of a hub, for writing: one writer at a time, and the index changes last and as a whole.

A version that has an entry is never touched again, but for the reason of its withdrawal. A folder without an entry was
never published: its publisher was killed, and the next one of this version removes it.
"""

import contextlib
import json
import logging
import os
import shutil
from pathlib import Path

from filelock import FileLock, Timeout

from serving.export import partial
from serving.export.forms import SOURCE
from serving.runtime.errors import DamagedError, ServingError
from zoo.core.storage import rename, write_bytes
from zoo.hub import index as hub_index

log = logging.getLogger("seqzoo.hub")
LOCK = ".index.lock"
PATIENCE = 60  # seconds that one writer waits for another


@contextlib.contextmanager
def lock(hub, patience=PATIENCE):
    """Hold the lock of a hub's folder, which is made where it does not exist.

    Raises:
        ServingError: another process holds it for longer than `patience` seconds.
    """
    hub = Path(hub)
    hub.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(hub / LOCK, timeout=patience):
            yield
    except Timeout:
        raise ServingError(
            f"{hub} is being written by another process, which has held {LOCK} for {patience} seconds. Wait for it, "
            "and publish again; nothing was changed."
        ) from None


def read_index(hub):
    """The checked index of a hub's folder; an empty one where there is none.

    Raises:
        DamagedError: the file is no sound index.
    """
    path = Path(hub) / hub_index.INDEX
    if not path.exists():
        return {"format": hub_index.FORMAT, "models": []}
    try:
        return hub_index.parse(path.read_bytes())
    except ValueError as error:
        raise DamagedError(
            f"{path} is damaged: {error}. Nothing was changed. Bring the file back as it was; `seqzoo hub validate` "
            "checks a hub."
        ) from error


def write_index(hub, entries, sign=None):
    """Replace the index by one of these entries; a crash leaves the old file or the new one.

    Args:
        hub: the folder.
        entries: of all versions.
        sign: a function that gives the index with its signature; without it a signature of the old one is gone, for
            it does not hold for the new one, and this is said.

    Raises:
        ValueError: an entry does not fit the schema; nothing is written.
    """
    entries = sorted(entries, key=lambda each: (each["name"], each["version"]))
    index = {"format": hub_index.FORMAT, "models": entries}
    index = sign(index) if sign else index
    content = (json.dumps(index, indent=1, ensure_ascii=False) + "\n").encode()
    hub_index.parse(content)
    if not sign and "signed" in read_index(hub):
        log.warning(
            "the index of %s has changed, and so it is not signed any more: sign it again, with `seqzoo hub sign "
            "--hub %s --key PEM`, before others read it",
            *(hub, hub),
        )
    write_bytes(Path(hub) / hub_index.INDEX, content)


def check_free(hub, name, version, weights=None):
    """Refuse a version that is published, and weights that were withdrawn.

    Args:
        hub: the folder.
        name: of the model.
        version: a positive integer.
        weights: the SHA-256 of the form that the others are made from.

    Raises:
        ValueError: the message says what is there and which version is free.
    """
    own = [each for each in read_index(hub)["models"] if each["name"] == name]
    free = max([each["version"] for each in own], default=0) + 1
    published = next((each for each in own if each["version"] == version), None)
    if published and published["withdrawn"] is not None:
        raise ValueError(
            f"{name}@{version} was withdrawn: {published['withdrawn']} A version that was withdrawn does not come back."
            f" Mend the model and publish it with --version {free}."
        )
    if published:
        raise ValueError(
            f"{name}@{version} is published already, and a version is never overwritten: others rely on its bytes. "
            f"Publish with --version {free}."
        )
    again = [each for each in own if weights and each["withdrawn"] and each["files"].get(SOURCE.file) == weights]
    if again:
        raise ValueError(
            f"These weights were withdrawn as {name}@{again[0]['version']}: {again[0]['withdrawn']} The same "
            f"{SOURCE.file} does not come back under another version. Mend the model, and export it again."
        )


def add(hub, folder, entry):
    """Move a complete folder to its place in the hub, and then write its entry.

    Args:
        hub: the folder of the hub.
        folder: the files of the version, beside its place and synchronised with the disk.
        entry: of the index.

    Raises:
        ValueError: the version was published meanwhile, or the entry does not fit the schema.
    """
    home = Path(hub) / entry["name"] / str(entry["version"])
    with lock(hub):
        check_free(hub, entry["name"], entry["version"], entry["files"].get(SOURCE.file))
        entries = [*read_index(hub)["models"], entry]
        hub_index.check_index({"format": hub_index.FORMAT, "models": entries})
        if home.exists():  # of a publisher that was killed before it wrote the entry
            shutil.rmtree(home)
        rename(folder, home)
        write_index(hub, entries)
    return home


def withdraw(hub, name, version, reason):
    """Mark a version as withdrawn; its files stay, so that whoever relies on it still has it.

    Args:
        hub: the folder of the hub.
        name: of the model.
        version: a positive integer.
        reason: one line, which everybody who fetches the model is told.

    Returns:
        The entry.

    Raises:
        ValueError: there is no such version, it was withdrawn already, or there is no reason.
    """
    reason = " ".join(reason.split())
    if not reason:
        raise ValueError("A withdrawal needs a reason, which everybody who fetches the model is told: --reason TEXT.")
    if not (Path(hub) / hub_index.INDEX).is_file():
        raise ValueError(f"{hub} is no hub: it has no {hub_index.INDEX}. Name the folder of a hub with --hub.")
    with lock(hub):
        entries = read_index(hub)["models"]
        entry = next((each for each in entries if (each["name"], each["version"]) == (name, version)), None)
        if entry is None:
            titles = ", ".join(map(hub_index.title, entries)) or "no model"
            raise ValueError(f"{hub} has no {name}@{version}; it has {titles}.")
        if entry["withdrawn"] is not None:
            raise ValueError(f"{name}@{version} was withdrawn already: {entry['withdrawn']}")
        entry["withdrawn"] = reason if reason[-1] in ".!?" else f"{reason}."  # sentences follow it in messages
        write_index(hub, entries)
    return entry


@contextlib.contextmanager
def staging(hub, name, version):
    """A folder beside the version's place, for its files; it is removed unless it was moved there.

    It is locked as long as its publisher lives, so that what a killed one left is known and removed.
    """
    home = Path(hub) / name
    folder = home / f".{version}.{os.getpid()}{partial.SUFFIXES[0]}"
    with contextlib.ExitStack() as stack:
        with lock(hub):
            home.mkdir(parents=True, exist_ok=True)
            partial.remove_leftovers(home)
            folder.mkdir()
            stack.enter_context(partial.lock(folder))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            with contextlib.suppress(OSError):
                home.rmdir()  # only where nothing is in it
