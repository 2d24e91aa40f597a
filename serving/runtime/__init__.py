"""Plain: inference on ONNX Runtime, NumPy and SentencePiece alone; of `zoo` it asks for tokenizers, no framework.

runtime = Runtime("build/demo/dates-gru-additive/1")
runtime.run(["3. März 2021"])[0].text
"""

from typing import TYPE_CHECKING

from serving.runtime.lazy import lazily

if TYPE_CHECKING:  # what `__getattr__` imports, for type checkers and editors
    from serving.runtime.predictors.results import (
        Attention as Attention,
        Hypothesis as Hypothesis,
        Label as Label,
        Result as Result,
        Sampling as Sampling,
        Tags as Tags,
        Vector as Vector,
        Word as Word,
    )
    from serving.runtime.runtime import Runtime as Runtime

_HOMES = {"Runtime": "serving.runtime.runtime"} | dict.fromkeys(
    ("Attention", "Hypothesis", "Label", "Result", "Sampling", "Tags", "Vector", "Word"),
    "serving.runtime.predictors.results",
)
__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazily(__name__, _HOMES)
