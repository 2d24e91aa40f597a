"""From a trained model to an artefact directory: SavedModel, ONNX graphs, tokenizers, manifest; parity is checked."""

from serving.runtime.lazy import lazily

_HOMES = {
    "Settings": "serving.export.settings",
    "Trial": "serving.export.settings",
    "export": "serving.export.pipeline",
    "export_again": "serving.export.again",
    "export_run": "serving.export.runs",
    "newest": "serving.export.partial",
}
__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazily(__name__, _HOMES)
