"""What a graph needs to run: its opset, its custom operators, and the oldest ONNX Runtime that gives correct results.

The oldest versions were measured (benchmarks/onnxruntime_versions.py). Version 1.20 loads every graph but silently
gives wrong results if `MultiHeadAttention` has a mask (a bias or padding) and the batch has more than one row.
"""

from onnx.external_data_helper import ExternalDataInfo, uses_external_data

from serving.export.onnx.graphs import opset_of, walk

OLDEST = "1.20"  # the oldest that was measured
MASKED = "1.21"  # the oldest whose MultiHeadAttention honours masks
MASKS = (4, 5)  # inputs of com.microsoft::MultiHeadAttention: key_padding_mask, attention_bias


def requirements(model):
    """`{"opset", "operators", "onnxruntime"}` of a `ModelProto`, and `weights`, the file of those that are not in it.

    Operators outside ONNX are given as "domain::name".
    """
    nodes = [node for graph in walk(model.graph) for node in graph.node]
    custom = sorted({f"{node.domain}::{node.op_type}" for node in nodes if node.domain not in ("", "ai.onnx")})
    weights = {ExternalDataInfo(tensor).location for tensor in model.graph.initializer if uses_external_data(tensor)}
    return {
        "opset": opset_of(model),
        "operators": custom,
        "onnxruntime": MASKED if any(map(_has_mask, nodes)) else OLDEST,
    } | dict.fromkeys(["weights"] * len(weights), *weights)


def _has_mask(node):
    return node.op_type == "MultiHeadAttention" and any(
        node.input[index : index + 1] not in ([], [""]) for index in MASKS
    )
