"""Layer normalisation, matrix products and look-ups as single ONNX operators.

Keras builds them from reshapes and reductions, which neither tf2onnx nor onnxruntime combines again.
"""

import contextlib
from unittest.mock import patch

import tensorflow as tf
from keras import layers, ops

from serving.export.onnx.markers import onnx_op
from zoo.core import tensors
from zoo.decoding import rules
from zoo.decoding.written import BARRED, barred

tensordot, take, normalise = tf.tensordot, ops.take, layers.LayerNormalization.call


@contextlib.contextmanager
def native_operators():
    """A context in which calls with a single ONNX operator trace to it, and others as usual. For conversion only."""
    with (
        patch.object(tf, "tensordot", _tensordot),
        patch.object(ops, "take", _take),
        patch.object(tensors, "gather_leaf", _gather_leaf),
        patch.object(rules, "barred", _bar),
        patch.object(layers.LayerNormalization, "call", _normalise),
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
