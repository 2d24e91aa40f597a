"""Deployment: `serving.export` writes artefacts, and `serving.runtime` runs them without Keras."""

import importlib

__all__ = ["Runtime", "export", "runtime"]


def __getattr__(name):
    """Import a name at its first use: `Runtime` needs ONNX Runtime alone, and `export` a framework."""
    if name == "Runtime":
        return importlib.import_module("serving.runtime").Runtime
    if name in __all__:
        return importlib.import_module(f"serving.{name}")
    raise AttributeError(f"module 'serving' has no attribute {name!r}")
