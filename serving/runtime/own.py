"""Makes `zoo` and `serving` the packages of this installation, whatever packages of these names are on the path.

A user may have a package called `serving` in the working folder or on PYTHONPATH. The command line, and the processes
that it starts, must not import that package.
"""

import runpy
import sys
from importlib.machinery import PathFinder
from pathlib import Path

HOME = str(Path(__file__).absolute().parents[2])
PACKAGES = ("serving", "zoo")


class OwnPackages:
    """A finder for `sys.meta_path` that finds `PACKAGES` and leaves every other name to the finders after it."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        """The module specification of one of the packages, or None."""
        return PathFinder.find_spec(name, [HOME]) if name in PACKAGES else None


def install():
    """Make `OwnPackages` the first finder of this process."""
    if OwnPackages not in sys.meta_path:
        sys.meta_path.insert(0, OwnPackages)


def command(module, *arguments):
    """The command that runs `module` of these packages as a program in a new process."""
    # -P: the folder of this file must not be on the path, where its modules could shadow a library's.
    return [sys.executable, "-P", __file__, module, *map(str, arguments)]


if __name__ == "__main__":
    install()
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
