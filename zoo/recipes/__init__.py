"""One TOML per zoo entry, and what turns it into a trained model."""

from zoo.recipes.recipe import Recipe, dumps, load, make, names
from zoo.recipes.run import open_run, train
from zoo.recipes.scoring import score, score_by_length
from zoo.recipes.translate import translate

__all__ = [
    "Recipe",
    "dumps",
    "load",
    "make",
    "names",
    "open_run",
    "score",
    "score_by_length",
    "train",
    "translate",
]
