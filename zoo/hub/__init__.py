"""Plain: hubs of trained models: where they are, what they have, and their files in a cache of this machine.

A hub is a folder with an `index.json` and the files `NAME/VERSION/FILE`, or a file server over such a folder. This room
needs `filelock`, `msgspec` and `platformdirs` (and `cryptography` where SEQZOO_HUB_KEYS names keys), and no framework.

import zoo.hub

zoo.hub.find("dates").entry["licence"]
zoo.hub.fetch("dates", ["manifest.json"])
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what `__getattr__` imports, for type checkers and editors
    from zoo.hub.base import HubError as HubError
    from zoo.hub.index import run_files as run_files
    from zoo.hub.resolve import (
        PublishedModel as PublishedModel,
        default_files as default_files,
        fetch as fetch,
        fetch_files as fetch_files,
        find as find,
        is_path as is_path,
        load as load,
        path as path,
    )

_HOMES = {"HubError": "base", "run_files": "index"} | dict.fromkeys(
    ("PublishedModel", "default_files", "fetch", "fetch_files", "find", "is_path", "load", "path"), "resolve"
)
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    """Import a name at its first use, so that `import zoo.hub` costs nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module 'zoo.hub' has no attribute {name!r}")
    return getattr(importlib.import_module(f"zoo.hub.{_HOMES[name]}"), name)
