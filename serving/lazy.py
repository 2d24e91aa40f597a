"""Names and modules that are imported at their first use, so that naming them costs nothing."""

import importlib
import sys
import types
from collections.abc import Callable
from typing import Any


def lazily(package: str, homes: dict[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`(__getattr__, __dir__)` of a package (PEP 562).

    Args:
        package: its `__name__`.
        homes: `{name: the module that defines it}`.
    """

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=sys.modules[package])
        return getattr(importlib.import_module(homes[name]), name)

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    return find, names


class _Later(types.ModuleType):
    """Stands for the module of its name, whose attributes are those of the module."""

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self.__name__), name)


def later(name: str) -> Any:
    """The module of that name, which is imported when something of it is asked for; `zoo.core.later` is zoo's own.

    At the top of a file it says what the file needs that is dear, or not installed everywhere.
    """
    return _Later(name)
