"""One TOML per zoo entry, and what turns it into a trained model."""

from zoo.recipes.evaluation import evaluate, label
from zoo.recipes.files import dumps, load, names
from zoo.recipes.recipe import Recipe, make
from zoo.recipes.run import open_labels, open_run, train
from zoo.recipes.scoring import score, score_by_length
from zoo.recipes.translate import translate

__all__ = [
    "Recipe",
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
