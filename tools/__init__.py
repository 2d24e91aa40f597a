"""The command line, a thin layer over `zoo` and `serving`. This folder is installed as the package `seqzoo`."""

import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path

if "serving" not in sys.modules:  # the package beside this one, even if the path has another of this name
    _spec = PathFinder.find_spec("serving", [str(Path(__file__).absolute().parents[1])])
    sys.modules["serving"] = module_from_spec(_spec)
    _spec.loader.exec_module(sys.modules["serving"])

from serving.runtime import own

own.install()
