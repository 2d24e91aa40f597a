"""The command line: thin shells over zoo and serving. This folder is installed as the package `seqzoo`."""

import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path

if "serving" not in sys.modules:  # the one beside this package, even where the path has another one of this name
    _spec = PathFinder.find_spec("serving", [str(Path(__file__).absolute().parents[1])])
    sys.modules["serving"] = module_from_spec(_spec)
    _spec.loader.exec_module(sys.modules["serving"])

from serving import own

own.install()
