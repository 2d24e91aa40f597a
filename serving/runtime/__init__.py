"""Inference on ONNX Runtime, NumPy and SentencePiece alone: nothing here imports `zoo` or a training framework.

runtime = Runtime("build/demo/dates-gru-additive/1")
runtime.run(["3. März 2021"])[0].text
"""

import importlib

_HOMES = {"Runtime": "serving.runtime.runtime"} | dict.fromkeys(
    ("Attention", "Hypothesis", "Label", "Result", "Sampling", "Tags", "Word"), "serving.runtime.predictors.results"
)
__all__ = sorted(_HOMES)


def __getattr__(name):
    """Import a name at its first use, so that reading a manifest does not import ONNX Runtime."""
    if name not in _HOMES:
        raise AttributeError(f"module 'serving.runtime' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
