"""Plain: the kinds of answers, with everything about each that needs no framework.

Every class of a module of this folder that is a whole `serving.kinds.base.Kind` is one. Whoever serves, asks, stores or
shows answers asks the kind, and never its name; `serving.export.kinds` has what a kind needs of TensorFlow.
"""

import importlib
import inspect
import pkgutil
from pathlib import Path

from serving.kinds.base import ONE, PAIR, Kind


def _find_kinds() -> dict[str, Kind]:
    """`{name: kind}` of the modules of this folder, by their names."""
    names = [each.name for each in pkgutil.iter_modules([str(Path(__file__).parent)])]
    modules = [importlib.import_module(f"serving.kinds.{name}") for name in names]
    classes = [each for module in modules for each in vars(module).values() if isinstance(each, type)]
    kinds = [each() for each in dict.fromkeys(classes) if issubclass(each, Kind) and not inspect.isabstract(each)]
    return {kind.name: kind for kind in sorted(kinds, key=lambda kind: kind.name)}


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
