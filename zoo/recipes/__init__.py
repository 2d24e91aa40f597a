"""One TOML per zoo entry, and what turns it into a trained model.

What reads and checks recipes, run folders and data imports no framework, so that whatever is wrong is told at once.
"""

import importlib

from zoo.recipes.corpora import check_data
from zoo.recipes.files import dumps, load, names
from zoo.recipes.folder import check_run, open_labels
from zoo.recipes.recipe import Recipe, make
from zoo.recipes.scoring import score, score_by_length
from zoo.recipes.start import open_run, train

__all__ = [
    "Recipe",
    "check_data",
    "check_run",
    "dumps",
    "evaluate",
    "label",
    "load",
    "make",
    "names",
    "open_labels",
    "open_run",
    "score",
    "score_by_length",
    "train",
    "translate",
]
_LATER = {  # what needs Keras, and is imported when it is asked for
    "evaluate": "zoo.recipes.evaluation",
    "evaluation": "zoo.recipes.evaluation",
    "label": "zoo.recipes.evaluation",
    "translate": "zoo.recipes.translation",
}


def __getattr__(name):
    if name not in _LATER:
        raise AttributeError(f"module 'zoo.recipes' has no attribute {name!r}")
    return getattr(importlib.import_module(_LATER[name]), name)
