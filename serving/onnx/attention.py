"""Multi-head attention as onnxruntime's fused operator.

tf2onnx writes an attention as some twenty nodes that onnxruntime does not recognise. Under `native_attention()` it is
one `com.microsoft.MultiHeadAttention`, the same arithmetic; the operator also appends to the pool of keys and values.
"""

import contextlib

import tensorflow as tf

from serving.onnx.markers import onnx_op
from serving.onnx.patches import replaced
from zoo.attention import MultiHeadAttention
from zoo.attention.base import sees_any
from zoo.masks import MASKED

extend = MultiHeadAttention.extend


@contextlib.contextmanager
def native_attention():
    """While open, `MultiHeadAttention` traces to the fused operator. For conversion only.

    A pool of static entries is traced as it is: only one that grows has an operator.
    """
    with replaced(MultiHeadAttention, mix=_mix, mix_all=_mix_all, extend=_extend):
        yield


def _mix(layer, query, keys, values, mask=None):
    """Stand-in for `MultiHeadAttention.mix`. A query that may see nothing gets zeros."""
    if mask is None:
        return _attention(layer, [query, keys, values], [query.shape])[0]
    alike = mask.shape[1] == 1  # for all queries, as over a source: a loop can then leave the zeros outside
    if alike:
        values = tf.where(mask[:, :, :, None], values, 0.0)
    mixed = _attention(layer, [query, keys, values, None, None, _bias(mask, query)], [query.shape])[0]
    return mixed if alike else tf.where(tf.reduce_any(mask, axis=2)[:, :, None], mixed, 0.0)


def _mix_all(layer, query, key, value, value_mask=None, causal=False):
    """Stand-in for `MultiHeadAttention.mix_all`."""
    padding = None if value_mask is None else tf.cast(value_mask, tf.int32)
    inputs = [query, key, value, None, padding]
    (mixed,) = _attention(layer, inputs, [query.shape], unidirectional=int(causal))
    if value_mask is None:
        return mixed
    seeing = sees_any(tf.shape(query)[1], value_mask, causal)
    return tf.where(seeing[:, :, None], mixed, 0.0)


def _extend(layer, query, key, value, cache, seen, write_index):
    """Stand-in for `MultiHeadAttention.extend`: the operator appends, too. A beam always sees its own new entry."""
    if write_index is not None:
        return extend(layer, query, key, value, cache, seen, write_index)
    bias = None if seen is None else _bias(seen, query)
    held = query.shape[0], layer.num_heads, None, layer.head_dim
    inputs = [query, key, value, None, None, bias, cache["keys"], cache["values"]]
    mixed, keys, values = _attention(layer, inputs, [query.shape, held, held])
    return mixed, {"keys": keys, "values": values}


def _attention(layer, inputs, shapes, **attributes):
    return onnx_op(
        "MultiHeadAttention",
        inputs,
        ["float32"] * len(shapes),
        shapes,
        "com.microsoft",
        num_heads=layer.num_heads,
        mask_filter_value=MASKED,
        **attributes,
    )


def _bias(mask, query):
    """What is added to the scores, `(batch | 1, 1, time, entries)`: 0 where the mask holds, far below elsewhere."""
    bias = tf.expand_dims(tf.where(mask, 0.0, MASKED), 1)
    if mask.shape[1] == query.shape[1]:
        return bias
    return tf.repeat(bias, tf.shape(query)[1], axis=2)
