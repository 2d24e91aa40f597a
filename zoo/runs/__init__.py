"""Keras: what turns a recipe into a trained model, and a trained model into answers and scores.

`start`, `python` and `repeats` check everything that can be checked without Keras before they import it.
"""

import importlib

from zoo.runs.start import evaluate, evaluation, open_run, train

__all__ = ["evaluate", "evaluation", "open_run", "train", "translate"]
_LATER = {"translate": "zoo.tasks.parts.answering"}  # what needs Keras, and is imported when it is asked for


def __getattr__(name):
    if name not in _LATER:
        raise AttributeError(f"module 'zoo.runs' has no attribute {name!r}")
    return getattr(importlib.import_module(_LATER[name]), name)
