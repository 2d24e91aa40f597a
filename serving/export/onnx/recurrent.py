"""Keras' GRU, LSTM and SimpleRNN as the ONNX operators GRU, LSTM and RNN.

tf2onnx turns a GRU, a SimpleRNN and any masked layer into a `Loop`, which onnxruntime interprets step by step; the
native operators give the same results two to four times faster. Under `native_recurrent()` the three layers trace to
these operators. Wrappers and options of the layers (Bidirectional, stacks, return_state, initial_state) work as usual;
cuDNN is never used.

**WARNING: masks must be right-padded.** ONNX expresses a mask as `sequence_lens`, so row i of the mask must be
`lengths[i]` times True and then False. A left-padded mask, or one with gaps, cannot be expressed, and tracing cannot
detect it because the mask is data: the exported graph would compute something else. Masks made from lengths, the only
ones in this zoo, are right-padded.
"""

import contextlib
import warnings
from unittest.mock import patch

import keras
import tensorflow as tf
from keras import layers

from serving.export.onnx.handlers import onnx_op

# Layer: ONNX operator, Keras' cell, and the gates in the order of ONNX, as positions in Keras' kernel.
OPERATORS = {
    layers.GRU: ("GRU", layers.GRUCell, (0, 1, 2)),  # z r h
    layers.LSTM: ("LSTM", layers.LSTMCell, (0, 3, 1, 2)),  # i f c o -> i o f c
    layers.SimpleRNN: ("RNN", layers.SimpleRNNCell, (0,)),
}

# Keras activation: ONNX name, alpha, beta.
ACTIVATIONS = {
    keras.activations.tanh: ("Tanh", (), ()),
    keras.activations.sigmoid: ("Sigmoid", (), ()),
    keras.activations.relu: ("Relu", (), ()),
    keras.activations.softsign: ("Softsign", (), ()),
    keras.activations.softplus: ("Softplus", (), ()),
    keras.activations.linear: ("Affine", (1.0,), (0.0,)),
    keras.activations.elu: ("Elu", (1.0,), ()),
    keras.activations.leaky_relu: ("LeakyRelu", (0.2,), ()),
    keras.activations.hard_sigmoid: ("HardSigmoid", (1 / 6,), (0.5,)),
}


@contextlib.contextmanager
def native_recurrent():
    """A context in which GRU, LSTM and SimpleRNN trace to native ONNX operators. For conversion only.

    A layer with an activation that ONNX does not have, with a custom cell, or with a compute dtype other than float32
    keeps Keras' loop, which is correct but slow. A `UserWarning` says so.

    Raises:
        ValueError: (while tracing) for a stateful layer, and for dropout that is active.
    """
    with contextlib.ExitStack() as stack:
        for layer in OPERATORS:
            stack.enter_context(patch.object(layer, "inner_loop", _inner_loop))
        yield


def _inner_loop(layer, sequences, initial_state, mask, training=False):
    """Replaces `inner_loop` of a Keras layer: returns (last output, outputs, final states)."""
    states = keras.tree.flatten(initial_state)
    mask = None if mask is None else tf.cast(keras.tree.flatten(mask)[0], tf.bool)
    _refuse_what_has_no_export(layer, training)
    obstacle = _obstacle(layer)
    if obstacle:
        warnings.warn(f"{layer.name} is exported as a loop, not natively: {obstacle}", stacklevel=2)
        return layers.RNN.inner_loop(layer, sequences, states, mask, training)
    lengths = None if mask is None else tf.reduce_sum(tf.cast(mask, tf.int32), axis=1)
    outputs, *finals = _native(layer, sequences, states, lengths)
    if layer.go_backwards:
        outputs = tf.reverse(outputs, [1])
    last = finals[0]
    if mask is not None:
        # For an empty row onnxruntime returns zeros, which is right for the output; the state must not change.
        alive = tf.expand_dims(lengths > 0, 1)
        finals = [tf.where(alive, new, old) for new, old in zip(finals, states, strict=True)]
        # With `go_backwards` padding comes first, where Keras and ONNX both give zeros. Otherwise Keras repeats the
        # last output over the padding, unless `zero_output_for_mask` is set.
        if not layer.go_backwards and layer.zero_output_for_mask:
            last = tf.where(mask[:, -1:], last, tf.zeros_like(last))
        elif not layer.go_backwards:
            outputs = tf.where(tf.expand_dims(mask, 2), outputs, tf.expand_dims(last, 1))
    if not layer.return_sequences:
        outputs = tf.expand_dims(last, 1)
    return last, outputs, finals


def _refuse_what_has_no_export(layer, training):
    if layer.stateful:
        raise ValueError(
            f"{layer.name} is stateful: an exported graph keeps nothing between calls. Expected "
            "stateful=False; pass initial_state and use return_state=True instead."
        )
    if training and (layer.cell.dropout or layer.cell.recurrent_dropout):
        raise ValueError(
            f"{layer.name} was called with training={training!r} and dropout: an export is for "
            "inference. Call the model with training=False."
        )


def _obstacle(layer):
    """The reason why the layer has no native operator, or None if it has one."""
    _, cell, _ = OPERATORS[_kind(layer)]
    if type(layer.cell) is not cell:
        return f"its cell is {type(layer.cell).__name__}, expected {cell.__name__}."
    unknown = [function for function in _activations(layer) if function not in ACTIVATIONS]
    if unknown:
        names = ", ".join(sorted(function.__name__ for function in ACTIVATIONS))
        return f"activation {unknown[0]!r} is unknown to ONNX, expected one of {names}."
    if layer.compute_dtype != "float32":
        return f"it computes in {layer.compute_dtype}, expected float32."
    return None


def _kind(layer):
    return next(kind for kind in OPERATORS if isinstance(layer, kind))


def _activations(layer):
    """The layer's activations in the order of ONNX: first the gates, then the candidate and, for LSTM, the output."""
    if isinstance(layer, layers.SimpleRNN):
        return [layer.activation]
    repeats = 2 if isinstance(layer, layers.LSTM) else 1
    return [layer.recurrent_activation, *[layer.activation] * repeats]


def _native(layer, sequences, states, lengths):
    """Outputs (batch, time, units), zero on padding, and final states (batch, units)."""
    op_type, _, order = OPERATORS[_kind(layer)]
    batch, time, _ = sequences.shape
    names, alphas, betas = zip(*(ACTIVATIONS[f] for f in _activations(layer)), strict=True)
    attrs = {
        "hidden_size": layer.units,
        "direction": "reverse" if layer.go_backwards else "forward",
        "activations": names,
    }
    if any(alphas):
        attrs["activation_alpha"] = sum(alphas, ())
    if any(betas):
        attrs["activation_beta"] = sum(betas, ())
    if op_type == "GRU":
        attrs["linear_before_reset"] = int(layer.reset_after)
    outputs, *finals = onnx_op(
        op_type,
        [
            tf.transpose(sequences, [1, 0, 2]),
            *_weights(layer.cell, order),
            lengths,
            *(tf.expand_dims(state, 0) for state in states),
        ],
        dtypes=["float32"] * (1 + len(states)),
        shapes=[(time, 1, batch, layer.units)] + [(1, batch, layer.units)] * len(states),
        **attrs,
    )
    finals = [tf.squeeze(final, 0) for final in finals]
    return tf.transpose(tf.squeeze(outputs, 1), [1, 0, 2]), *finals


def _weights(cell, order):
    """The weights of ONNX: W (1, gates*units, features), R (1, gates*units, units), B (1, 2*gates*units)."""
    gates = len(order)

    def reorder(array):
        return tf.concat([tf.split(array, gates, axis=-1)[gate] for gate in order], axis=-1)

    kernel = reorder(tf.convert_to_tensor(cell.kernel))
    recurrent = reorder(tf.convert_to_tensor(cell.recurrent_kernel))
    if cell.bias is None:
        bias = tf.zeros((2, gates * cell.units))
    else:
        bias = tf.reshape(tf.convert_to_tensor(cell.bias), (-1, gates * cell.units))
        bias = reorder(tf.pad(bias, [[0, 2 - bias.shape[0]], [0, 0]]))  # no recurrent bias: zeros
    return *(tf.expand_dims(tf.transpose(w), 0) for w in (kernel, recurrent)), tf.reshape(bias, (1, -1))
