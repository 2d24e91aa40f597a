"""The border to Keras, and to what is dear or not installed everywhere: modules that are imported at their first use.

`models = later("zoo.models")` at the top of a file says what the file needs and does not import it, as `lazy import`
of PEP 810 will.
"""

import importlib
import types
from importlib import metadata


class _Later(types.ModuleType):
    """Stands for the module of its name, whose attributes are those of the module."""

    def __getattr__(self, name):
        return getattr(importlib.import_module(self.__name__), name)


def later(name):
    """The module of that name, which is imported when something of it is asked for.

    >>> from zoo.core.later import later
    >>> later("fractions").Fraction(1, 2)
    Fraction(1, 2)
    """
    return _Later(name)


def installed_version(package):
    """The version of an installed package; None where it is not, such as seqzoo that runs from a source tree."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
