"""Models that were installed as Python packages: `pip install` of what `seqzoo hub package` wrote.

Such a package names itself in the entry point group `seqzoo_models`, and holds a hub of one model in its folder `hub`.
It is found without being imported: nothing of it is executed.
"""

import importlib.util
from importlib import metadata
from pathlib import Path

from zoo.hub.index import INDEX

GROUP = "seqzoo_models"


def packaged():
    """The folders of the hubs of installed packages, by the names of their models."""
    modules = {point.name: point.value for point in metadata.entry_points(group=GROUP)}
    folders = [folder for _, module in sorted(modules.items()) for folder in _folders(module)]
    return [folder for folder in dict.fromkeys(folders) if (folder / INDEX).is_file()]


def _folders(module):
    if not module.isidentifier():  # to look for a.b would import a
        return []
    spec = importlib.util.find_spec(module)
    places = spec.submodule_search_locations if spec else None
    return [Path(place) / "hub" for place in places or ()]
