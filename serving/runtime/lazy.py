"""Packages whose names are imported at their first use, so that importing the package costs nothing."""

import importlib
import sys
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
