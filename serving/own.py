"""`zoo` and `serving` are the packages that lie beside each other here, whatever else on the path has these names.

A user may well have a package `serving` of their own in the working folder or on PYTHONPATH. The command line, and the
processes that it starts, must not import that one.
"""

import runpy
import sys
from importlib.machinery import PathFinder
from pathlib import Path

HOME = str(Path(__file__).absolute().parents[1])
PACKAGES = ("serving", "zoo")


class OwnPackages:
    """A finder for `sys.meta_path` that knows `PACKAGES` and leaves every other name to the finders after it."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        """The specification of one of the packages, or None."""
        return PathFinder.find_spec(name, [HOME]) if name in PACKAGES else None


def install():
    """Ask `OwnPackages` first in this process."""
    if OwnPackages not in sys.meta_path:
        sys.meta_path.insert(0, OwnPackages)


def command(module, *arguments):
    """The command line that runs `module` of these packages as a program, in a process of its own."""
    # -P: the folder of this file must not be on the path, because its `onnx` is not the library's.
    return [sys.executable, "-P", __file__, module, *map(str, arguments)]


if __name__ == "__main__":
    install()
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
