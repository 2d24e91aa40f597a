"""Inference on ONNX Runtime, NumPy and SentencePiece alone: nothing here imports `zoo` or a training framework.

runtime = Runtime("build/demo/dates-gru-additive/1")
runtime.run(["3. März 2021"])[0].text
"""

from serving.runtime.lazy import lazily

_HOMES = {"Runtime": "serving.runtime.runtime"} | dict.fromkeys(
    ("Attention", "Hypothesis", "Label", "Result", "Sampling", "Tags", "Word"), "serving.runtime.predictors.results"
)
__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazily(__name__, _HOMES)
