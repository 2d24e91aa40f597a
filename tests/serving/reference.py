"""What `onnx.reference`, ONNX' own slow and plain evaluator, needs to run our graphs, and what it does not run.

* `com.microsoft::MultiHeadAttention` is no operator of ONNX: here it is in NumPy, from the formula of attention.
* GRU, LSTM and RNN there ignore `sequence_lens` without a word (onnx 1.23): they are compared on full rows alone.
* int8 graphs are not run: their operators are Microsoft's.
"""

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

RECURRENT = {"GRU", "LSTM", "RNN"}


class MultiHeadAttention(OpRun):
    """softmax(Q K^T / sqrt(d) + masks) V of every head, behind the keys and values of before."""

    op_domain = "com.microsoft"

    def _run(
        self,
        query,
        key,
        value,
        bias=None,
        key_padding_mask=None,
        attention_bias=None,
        past_key=None,
        past_value=None,
        **attributes,
    ):
        assert bias is None and not attributes.get("scale"), attributes
        heads, far = attributes["num_heads"], attributes["mask_filter_value"]

        def split(x):
            return x if x.ndim == 4 else x.reshape(*x.shape[:2], heads, -1).swapaxes(1, 2)

        q, k, v = map(split, (query, key, value))
        if past_key is not None:
            k, v = np.concatenate([past_key, k], axis=2), np.concatenate([past_value, v], axis=2)
        scores = q @ k.swapaxes(2, 3) / np.sqrt(q.shape[-1])
        if attention_bias is not None:
            scores = scores + attention_bias
        if key_padding_mask is not None:
            scores = np.where(key_padding_mask[:, None, None, :] != 0, scores, far)
        if attributes.get("unidirectional"):
            scores = np.where(np.tril(np.ones(scores.shape[2:], bool), k.shape[2] - q.shape[2]), scores, far)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        mixed = (weights / weights.sum(axis=-1, keepdims=True)) @ v
        outputs = mixed.swapaxes(1, 2).reshape(query.shape).astype("float32"), k, v
        return outputs[: len(self.onnx_node.output)]


def evaluate(model, inputs):
    """Outputs of a `ModelProto` by name."""
    found = ReferenceEvaluator(model, new_ops=[MultiHeadAttention]).run(None, inputs)
    return dict(zip([value.name for value in model.graph.output], found, strict=True))


def custom_operators(model):
    """Operators of other domains than ONNX' own, in bodies too, counted by hand: "domain::name"."""

    def nodes(graph):
        for node in graph.node:
            yield node
            for attribute in node.attribute:
                if attribute.type == onnx.AttributeProto.GRAPH:
                    yield from nodes(attribute.g)

    return {f"{node.domain}::{node.op_type}" for node in nodes(model.graph) if node.domain}
