"""Plain: the kinds of answers, one file a kind, with everything about it that needs no framework.

Every module of this folder that has a `KIND` is a kind (`serving.kinds.base.Kind`). Whoever serves, asks, stores or
shows answers asks the kind, and never its name; `serving.export.kinds` has what a kind needs of TensorFlow.
"""

import importlib
import pkgutil
from pathlib import Path

from serving.kinds.base import ONE, PAIR, Kind


def _find_kinds() -> dict[str, Kind]:
    """`{name: kind}` of the modules of this folder."""
    names = [each.name for each in pkgutil.iter_modules([str(Path(__file__).parent)])]
    modules = [importlib.import_module(f"serving.kinds.{name}") for name in names]
    return {module.KIND.name: module.KIND for module in modules if "KIND" in vars(module)}


KINDS = _find_kinds()


def find_kind(inputs, outputs):
    """The kind of a model on a server, by the names of its inputs and outputs, and its sides; None where there is none.

    >>> from serving.kinds import find_kind
    >>> kind, sides = find_kind(["first_text", "second_text"], ["label", "probabilities"])
    >>> kind.name, sides
    ('compare', ('first_text', 'second_text'))
    """
    sides = PAIR if set(PAIR) <= set(inputs) else ONE
    return next(((kind, sides) for kind in KINDS.values() if kind.mark in outputs and sides in kind.forms), None)
