"""Plain: recipes and run folders, read and checked without a framework, so that errors come at once.

`zoo.runs` trains what is read here.
"""

from zoo.recipes.files import dumps, load, load_for_training, names
from zoo.recipes.folder import check_run
from zoo.recipes.recipe import Recipe, check_data, explained, last_split, make, read

__all__ = [
    "Recipe",
    "check_data",
    "check_run",
    "dumps",
    "explained",
    "last_split",
    "load",
    "load_for_training",
    "make",
    "names",
    "read",
]
