"""Attention, layer normalisation, matrix products and look-ups as single ONNX operators.

Keras builds them from reshapes, products and reductions, which neither tf2onnx nor onnxruntime combines again: an
attention becomes about twenty nodes. Under `native_operators()` it becomes one `com.microsoft.MultiHeadAttention` with
the same results, which also appends new keys and values to the cache.
"""

import contextlib
from unittest.mock import patch

import tensorflow as tf
from keras import layers, ops

from serving.export.onnx.handlers import onnx_op
from zoo.attention import MultiHeadAttention
from zoo.attention.heads import Heads
from zoo.core import tensors
from zoo.core.masks import MASKED, sees_any
from zoo.decoding import rules
from zoo.decoding.written import BARRED, barred

tensordot, take, normalise = tf.tensordot, ops.take, layers.LayerNormalization.call
extend = MultiHeadAttention.extend


@contextlib.contextmanager
def native_operators():
    """A context in which calls with a single ONNX operator trace to it, and others as usual. For conversion only.

    An attention over a cache of static size is traced as it is: the operator only supports a cache that grows.
    """
    with (
        patch.object(tf, "tensordot", _tensordot),
        patch.object(ops, "take", _take),
        patch.object(tensors, "gather_leaf", _gather_leaf),
        patch.object(rules, "barred", _bar),
        patch.object(layers.LayerNormalization, "call", _normalise),
        patch.multiple(MultiHeadAttention, mix=_mix, mix_all=_mix_all, extend=_extend),
        patch.object(Heads, "split_heads", _split_heads),
    ):
        yield


def _tensordot(a, b, axes, name=None):
    """Keras' product with a matrix, `(..., n) x (n, m)`, as a MatMul."""
    if axes != [[-1], [0]] or b.shape.rank != 2 or a.dtype != tf.float32:
        return tensordot(a, b, axes, name)
    return onnx_op("MatMul", [a, b], ["float32"], [(*a.shape[:-1], b.shape[1])])[0]


def _take(x, indices, axis=None):
    """Without Keras' treatment of negative indices: ONNX counts them from the end itself."""
    return take(x, indices, axis) if axis is None else tf.gather(x, indices, axis=axis)


def _gather_leaf(leaf, parents):
    if leaf.shape.rank == 2:
        return onnx_op("GatherElements", [leaf, parents], [leaf.dtype], [parents.shape], axis=1)[0]
    indices = tf.cast(tf.expand_dims(parents, -1), tf.int64)
    shape = (leaf.shape[0], parents.shape[1], *leaf.shape[2:])
    return onnx_op("GatherND", [leaf, indices], [leaf.dtype], [shape], batch_dims=1)[0]


def _bar(scores, there, ids):
    """Where an id stands at several places, the lowest of their values counts. What is constant TensorFlow folds."""
    if scores.shape.is_fully_defined():
        return barred(scores, there, ids)
    inputs = [tf.zeros(tf.shape(scores)), tf.maximum(ids, 0), tf.where(there, BARRED, 0.0)]
    return onnx_op("ScatterElements", inputs, ["float32"], [scores.shape], axis=2, reduction="min")[0]


def _normalise(layer, inputs):
    last = layer.axis in (-1, [-1], inputs.shape.rank - 1, [inputs.shape.rank - 1])
    has_weights = layer.gamma is not None and layer.beta is not None and not layer.rms_scaling
    if not (last and has_weights and inputs.dtype == tf.float32):
        return normalise(layer, inputs)
    weights = [tf.convert_to_tensor(layer.gamma), tf.convert_to_tensor(layer.beta)]
    kind = "LayerNormalization"
    return onnx_op(kind, [inputs, *weights], ["float32"], [inputs.shape], epsilon=layer.epsilon)[0]


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
