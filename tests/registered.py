"""Layers of one's own that stand in their slots for some tests, and for no others."""

import importlib
from contextlib import contextmanager

from zoo.settings import occupants


@contextmanager
def registered(name):
    """The module of this name, imported; the layers that it registers leave their slots at the end of the context."""
    before = occupants._occupants
    occupants._occupants = {slot: dict(held) for slot, held in before.items()}
    try:
        module = importlib.import_module(name)
        if not any(cls.__module__ == name for held in occupants._occupants.values() for cls in held.values()):
            importlib.reload(module)  # it was imported for others, who took its layers away
        yield module
    finally:
        occupants._occupants = before
