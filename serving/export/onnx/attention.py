"""Multi-head attention as the fused operator of onnxruntime.

tf2onnx writes an attention as about twenty nodes, which onnxruntime does not recognise as one. Under
`native_attention()` it becomes one `com.microsoft.MultiHeadAttention` with the same results. The operator also appends
new keys and values to the cache.
"""

import contextlib
from unittest.mock import patch

import tensorflow as tf

from serving.export.onnx.markers import onnx_op
from zoo.attention import MultiHeadAttention
from zoo.attention.heads import Heads
from zoo.core.masks import MASKED, sees_any

extend = MultiHeadAttention.extend


@contextlib.contextmanager
def native_attention():
    """A context in which `MultiHeadAttention` traces to the fused operator. For conversion only.

    A cache of static size is traced as it is: the operator only supports a cache that grows.
    """
    with (
        patch.multiple(MultiHeadAttention, mix=_mix, mix_all=_mix_all, extend=_extend),
        patch.object(Heads, "split_heads", _split_heads),
    ):
        yield


def _split_heads(layer, x):
    """Replaces `Heads.split_heads`: a 0 says that an axis keeps its size."""
    shape = (*x.shape[:2], layer.num_heads, layer.head_dim)
    (split,) = onnx_op("Reshape", [x, tf.constant([0, 0, *shape[2:]], tf.int64)], [x.dtype], [shape])
    return tf.transpose(split, (0, 2, 1, 3))


def _mix(layer, query, keys, values, mask=None, bias=None):
    """Replaces `MultiHeadAttention.mix`. A query for which every position is masked gets zeros."""
    if mask is None:
        return _attention(layer, [query, keys, values, None, None, bias], [query.shape])[0]
    alike = mask.shape[1] == 1  # one mask for all queries, as for a source: the zeros need not be set inside a loop
    if alike:
        values = tf.where(mask[:, :, :, None], values, 0.0)
    mixed = _attention(layer, [query, keys, values, None, None, _bias(mask, query, bias)], [query.shape])[0]
    return mixed if alike else tf.where(tf.reduce_any(mask, axis=2)[:, :, None], mixed, 0.0)


def _mix_all(layer, query, key, value, value_mask=None, causal=False, bias=None):
    """Replaces `MultiHeadAttention.mix_all`."""
    padding = None if value_mask is None else tf.cast(value_mask, tf.int32)
    inputs = [query, key, value, None, padding, bias]
    (mixed,) = _attention(layer, inputs, [query.shape], unidirectional=int(causal))
    if value_mask is None:
        return mixed
    seeing = sees_any(tf.shape(query)[1], value_mask, causal)
    return tf.where(seeing[:, :, None], mixed, 0.0)


def _extend(layer, query, key, value, cache, seen, write_index, bias=None):
    """Replaces `MultiHeadAttention.extend`: the operator appends to the cache. A beam always sees its new entry."""
    if write_index is not None:
        return extend(layer, query, key, value, cache, seen, write_index, bias)
    bias = bias if seen is None else _bias(seen, query, bias)
    shape = query.shape[0], layer.num_heads, None, layer.head_dim
    inputs = [query, key, value, None, None, bias, cache["keys"], cache["values"]]
    mixed, keys, values = _attention(layer, inputs, [query.shape, shape, shape])
    return mixed, {"keys": keys, "values": values}


def _attention(layer, inputs, shapes, **attributes):
    count = max(index for index, each in enumerate(inputs) if each is not None) + 1
    return onnx_op(
        "MultiHeadAttention",
        inputs[:count],
        ["float32"] * len(shapes),
        shapes,
        "com.microsoft",
        num_heads=layer.num_heads,
        mask_filter_value=MASKED,
        **attributes,
    )


def _bias(mask, query, bias=None):
    """The bias of the scores, `(batch | 1, heads | 1, time, entries)`: what is given, or `MASKED` outside the mask."""
    if bias is not None:
        return tf.where(tf.expand_dims(mask, 1), bias, MASKED)
    is_whole = mask.shape[1] == query.shape[1]
    time = 1 if is_whole else query.shape[1] or tf.shape(query)[1]
    return tf.where(tf.expand_dims(mask, 1), tf.zeros((1, 1, time, 1)), MASKED)
