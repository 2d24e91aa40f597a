"""Plain: inference on ONNX Runtime, NumPy and SentencePiece alone; of `zoo` it asks for tokenizers, no framework.

runtime = Runtime("build/demo/dates-gru-additive/1")
runtime.run(["3. März 2021"])[0].text
"""

from typing import TYPE_CHECKING

from serving.lazy import lazily

if TYPE_CHECKING:  # what `__getattr__` imports, for type checkers and editors
    from serving.kinds.classify import Label as Label
    from serving.kinds.embed import Vector as Vector
    from serving.kinds.generate import Hypothesis as Hypothesis, Result as Result
    from serving.kinds.rate import Rating as Rating
    from serving.kinds.tag import Tags as Tags, Word as Word
    from serving.runtime.runtime import Runtime as Runtime
    from serving.runtime.sampling import Sampling as Sampling
    from serving.runtime.writing import Attention as Attention

_HOMES = {
    "Attention": "serving.runtime.writing",
    "Hypothesis": "serving.kinds.generate",
    "Label": "serving.kinds.classify",
    "Rating": "serving.kinds.rate",
    "Result": "serving.kinds.generate",
    "Runtime": "serving.runtime.runtime",
    "Sampling": "serving.runtime.sampling",
    "Tags": "serving.kinds.tag",
    "Vector": "serving.kinds.embed",
    "Word": "serving.kinds.tag",
}
__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazily(__name__, _HOMES)
