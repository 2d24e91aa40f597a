"""Hubs of trained models: where they are, what they have, and their files in a cache of this machine.

A hub is a folder with an `index.json` and the files `NAME/VERSION/FILE`, or a file server over such a folder. This room
needs the standard library, `filelock` and `platformdirs`, and imports no other room of the zoo.

import zoo.hub

zoo.hub.find("dates").entry["licence"]
zoo.hub.fetch("dates", ["manifest.json"])
"""

import importlib

_HOMES = {
    "Found": "resolve",
    "HubError": "errors",
    "bring": "resolve",
    "default_files": "resolve",
    "fetch": "resolve",
    "find": "resolve",
    "is_path": "resolve",
    "load": "resolve",
    "path": "resolve",
    "run_files": "index",
}
__all__ = sorted(_HOMES)


def __getattr__(name):
    """Import a name at its first use, so that `import zoo.hub` costs nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module 'zoo.hub' has no attribute {name!r}")
    return getattr(importlib.import_module(f"zoo.hub.{_HOMES[name]}"), name)
