"""Publishing: an artefact with its licences, its answers to a test set and a card becomes an entry of a hub.

`zoo.hub` reads hubs and needs no framework; this room writes them.
"""

import importlib

_HOMES = {
    "Facts": "serving.hub.facts",
    "TestSet": "serving.hub.measure",
    "check": "serving.hub.checking",
    "check_signature": "serving.hub.signing",
    "package": "serving.hub.wheel",
    "publish": "serving.hub.publishing",
    "sign": "serving.hub.signing",
    "withdraw": "serving.hub.shelf",
}
PARTS = ("files", "scores", "answers", "parameters", "parity", "card", "data")  # of a card, which `check` checks
__all__ = ["PARTS", *sorted(_HOMES)]


def __getattr__(name):
    """Import a name at its first use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'serving.hub' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
