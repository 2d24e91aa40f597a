"""Keras: from a trained model to an artefact: SavedModel, ONNX graphs, tokenizers, manifest; parity is checked."""

from typing import TYPE_CHECKING

from serving.lazy import lazily

if TYPE_CHECKING:  # what `__getattr__` imports, for type checkers and editors
    from serving.export.again import export_again as export_again
    from serving.export.partial import newest as newest
    from serving.export.pipeline import export as export
    from serving.export.runs import export_run as export_run
    from serving.export.settings import Settings as Settings, Trial as Trial

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
