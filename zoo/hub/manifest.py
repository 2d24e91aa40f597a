"""What a hub reads in the manifest of a version: its name and number, and the weights of a graph.

The manifest is the one file that has the name and the number of the version that it describes, and signatures cover it.
So it exposes an index that gives a version another name or number.
"""

import json

from zoo.hub.errors import HubError
from zoo.hub.folder import open_regular
from zoo.hub.index import MANIFEST, title

MOST_BYTES = 2**24


def read(folder):
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
    manifest = read(folder)
    stated = {key: manifest.get(key, entry[key]) for key in ("name", "version")}
    if stated != {key: entry[key] for key in stated}:
        raise HubError(
            f"the files of {title(entry)} are those of {title(stated)}, as their manifest says: somebody gave them "
            "another place in the index. They are not used. Tell the hub's owner; `seqzoo hub validate` checks a hub "
            "in a folder."
        )
