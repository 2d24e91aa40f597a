"""What a graph asks of the engine that runs it: opset, custom operators, the oldest ONNX Runtime that answers right.

The oldest versions were measured (benchmarks/onnxruntime_versions.py): 1.20 loads every graph and answers wrongly,
without a word, where `MultiHeadAttention` has a mask, as a bias or as padding, and the batch more than one row.
"""

from serving.onnx.graphs import opset_of, walk

OLDEST = "1.20"  # the oldest that was measured
MASKED = "1.21"  # the oldest whose MultiHeadAttention honours masks
MASKS = (4, 5)  # inputs of com.microsoft::MultiHeadAttention: key_padding_mask, attention_bias


def requirements(model):
    """`{"opset", "operators", "onnxruntime"}` of a `ModelProto`; an operator is "domain::name", ONNX' own left out."""
    nodes = [node for graph in walk(model.graph) for node in graph.node]
    custom = sorted({f"{node.domain}::{node.op_type}" for node in nodes if node.domain not in ("", "ai.onnx")})
    return {
        "opset": opset_of(model),
        "operators": custom,
        "onnxruntime": MASKED if any(map(_masked, nodes)) else OLDEST,
    }


def _masked(node):
    return node.op_type == "MultiHeadAttention" and any(
        node.input[index : index + 1] not in ([], [""]) for index in MASKS
    )
