"""Deployment: `serving.export` writes artefacts, and `serving.runtime` runs them without Keras."""

import importlib
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what `__getattr__` imports, for type checkers and editors
    from serving import export as export, runtime as runtime
    from serving.runtime import Runtime as Runtime

__all__ = ["Runtime", "export", "runtime"]

# From 1.31 on ONNX Runtime sends events and an identifier of the machine to Microsoft unless this is set before it is
# imported; its own function for this comes too late. ORT_DISABLE_TELEMETRY=0 in the environment turns that on again.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")


def __getattr__(name: str) -> Any:
    """Import a name at its first use: `Runtime` needs ONNX Runtime alone, and `export` a framework."""
    if name == "Runtime":
        return importlib.import_module("serving.runtime").Runtime
    if name in __all__:
        return importlib.import_module(f"serving.{name}")
    raise AttributeError(f"module 'serving' has no attribute {name!r}")
