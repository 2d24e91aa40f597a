"""The manifest of a version, as far as a hub has to know it: what it says it is, and which graph answers.

The manifest is the one file that says the name and the version of what it describes, and it is among the files that a
signature is over. So an index that gives a version another name, or another number, is found by it.
"""

import json

from zoo.hub.errors import HubError
from zoo.hub.index import MANIFEST, title
from zoo.hub.regular import open_regular

MOST_BYTES = 2**24


def read(folder):
    """The manifest in a folder, a dict, as it stands there; an empty one where it does not hold.

    One that does not hold is refused by whoever opens the artefact.
    """
    try:
        with open_regular(folder / MANIFEST) as file:
            value = json.loads(file.read(MOST_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def weights_of(manifest, graph):
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
    manifest = read(folder)
    said = {key: manifest.get(key, entry[key]) for key in ("name", "version")}
    if said != {key: entry[key] for key in said}:
        raise HubError(
            f"the files of {title(entry)} are those of {title(said)}, as their manifest says: somebody gave them "
            "another place in the index. They are not used. Tell the hub's owner; `seqzoo hub validate` checks a hub "
            "in a folder."
        )
