"""What an export does otherwise for a large network: one rule by size.

The graphs of a large network share one file of weights for each precision, `WEIGHTS`; those of any other hold their
weights themselves, so that each graph is one file. What is written of a large network, and how much it is asked before
it is, is bounded as well (docs/artefacts.md, "Networks of 100 MB and more").
"""

import math

LARGE = 100_000_000  # bytes of float32 weights, from which a network is large
WEIGHTS = {"float32": "weights.onnx_data", "int8": "weights.int8.onnx_data"}

TOKENS = 32  # that an answer has at most where int8 is measured and its ranges are found
TEXTS = 32  # with which ranges are found


def is_large(model):
    """Whether the weights of a Keras model have `LARGE` bytes or more."""
    return 4 * sum(math.prod(weight.shape) for weight in model.weights) >= LARGE
