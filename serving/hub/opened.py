"""The entry and the files of a published model: of a folder, or of the hubs that this machine knows."""

import hashlib
from pathlib import Path

import zoo.hub
from serving.runtime.artefact import Artefact, read_inside
from serving.runtime.errors import DamagedError
from zoo.hub import index as hub_index
from zoo.hub.base import Folder
from zoo.hub.places import read_entries


def open_model(name, hub=None):
    """`(entry, folder)` of a model: all of its published files.

    Args:
        name: such as "dates" or "dates@2".
        hub: the folder of a hub; None asks the hubs of `SEQZOO_HUB`, and fetches what is not in the cache.

    Raises:
        ValueError: there is no such model.
    """
    if hub is None:
        published = zoo.hub.find(*hub_index.split(name))
        return published.entry, zoo.hub.fetch_files(published, sorted(published.entry["files"]))
    model, version = hub_index.split(name)
    entries = read_entries(Folder(hub))
    entry = hub_index.choose(entries, model, version)
    if entry is None:
        near = hub_index.nearest(model, [each["name"] for each in entries])
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        raise ValueError(f"{hub} has no model {name}.{hint} It has {len(entries)} entries; `seqzoo list` shows them.")
    return entry, Path(hub) / entry["name"] / str(entry["version"])


def read_published(folder, name, entry, meanwhile=""):
    """The bytes of a published file, which are those that the index lists; `meanwhile` is what was not done, if not.

    Raises:
        DamagedError: they are others.
    """
    content = read_inside(folder, name, entry["bytes"][name])
    if hashlib.sha256(content).hexdigest() != entry["files"][name]:
        path = Path(folder) / name
        raise DamagedError(f"{path} has other bytes than the index says{meanwhile}. Fetch the model again.")
    return content


def artefact_of(folder, entry):
    """The `Artefact` of published files, whose manifest is that of the index.

    Raises:
        DamagedError: the manifest is another one, or does not fit the index.
    """
    folder, name = Path(folder), hub_index.MANIFEST
    read_published(folder, name, entry)
    artefact = Artefact(folder)
    own = (name, hub_index.SIGNATURE)
    if artefact.manifest["files"] != {each: digest for each, digest in entry["files"].items() if each not in own}:
        raise DamagedError(
            f"{folder / name} does not fit the index: expected the hashes of the same files. Publish it again."
        )
    return artefact
