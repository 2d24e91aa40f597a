"""What turns a recipe into a trained model, and a trained model into scores.

What reads and checks recipes, run folders and data imports no framework, so that whatever is wrong is told at once.
"""

import importlib

from zoo.recipes.files import dumps, load, names
from zoo.recipes.folder import check_run
from zoo.recipes.recipe import Recipe, explained, make
from zoo.recipes.start import check_data, evaluate, evaluation, last_split, open_run, read, train

__all__ = [
    "Recipe",
    "check_data",
    "check_run",
    "dumps",
    "evaluate",
    "evaluation",
    "explained",
    "last_split",
    "load",
    "make",
    "names",
    "open_run",
    "read",
    "train",
    "translate",
]
_LATER = {"translate": "zoo.tasks.parts.search"}  # what needs Keras, and is imported when it is asked for


def __getattr__(name):
    if name not in _LATER:
        raise AttributeError(f"module 'zoo.recipes' has no attribute {name!r}")
    return getattr(importlib.import_module(_LATER[name]), name)
