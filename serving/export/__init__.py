"""From a trained model to an artefact directory: SavedModel, ONNX graphs, tokenizers, manifest; parity is checked."""

import importlib

_HOMES = {
    "Settings": "serving.export.settings",
    "Trial": "serving.export.settings",
    "export": "serving.export.pipeline",
    "export_again": "serving.export.again",
    "export_run": "serving.export.runs",
    "newest": "serving.export.partial",
}
__all__ = sorted(_HOMES)


def __getattr__(name):
    """Import a name at its first use: the parity check runs in a process that must not import `zoo`."""
    if name not in _HOMES:
        raise AttributeError(f"module 'serving.export' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
