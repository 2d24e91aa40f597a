"""Plain: recipes and run folders, read and checked without a framework, so that errors come at once.

`zoo.runs` trains what is read here.
"""

from zoo.recipes.files import dumps, list_recipes, load, load_for_training
from zoo.recipes.folder import check_run
from zoo.recipes.recipe import Recipe, check_data, explain, make, read
from zoo.tasks.parts.corpora import last_split

__all__ = [
    "Recipe",
    "check_data",
    "check_run",
    "dumps",
    "explain",
    "last_split",
    "list_recipes",
    "load",
    "load_for_training",
    "make",
    "read",
]
