"""What TensorFlow's gradient of Keras' recurrent loop keeps of each step: states, and no copies of whole weights."""

import keras
import numpy as np
import pytest

from zoo.attention import AdditiveAttention
from zoo.recurrent import RecurrentDecoder, RecurrentEncoder

UNITS, ROWS, TIME = 6, 3, 4


def encoder():
    """A built encoder, and what computes its outputs."""
    layer = RecurrentEncoder(UNITS, "gru_reset_before", num_layers=2)
    x = np.random.default_rng(0).normal(size=(ROWS, TIME, UNITS)).astype("float32")
    mask = np.arange(TIME) < np.array([[4], [2], [3]])
    layer(x, mask=mask)
    return layer, lambda: layer(x, mask=mask, training=True)[0]


def decoder():
    layer = RecurrentDecoder(UNITS, "gru", AdditiveAttention(UNITS), num_layers=2)
    rng = np.random.default_rng(0)
    x, values = (rng.normal(size=(ROWS, time, UNITS)).astype("float32") for time in (TIME, 5))
    mask = np.ones((ROWS, 5), bool)
    layer(x, layer.remember(values, mask, [values[:, 0]]))
    return layer, lambda: layer(x, layer.remember(values, mask, [values[:, 0]]), training=True)


def gradients(layer, outputs):
    import tensorflow as tf

    with tf.GradientTape() as tape:
        loss = keras.ops.mean(outputs() ** 2)
    return tape.gradient(loss, [weight.value for weight in layer.trainable_weights])


def bodies(graph):
    """The bodies of a graph's loops."""
    from tensorflow.python.ops.while_v2 import _get_graph

    loops = [each for each in graph.get_operations() if each.type in ("While", "StatelessWhile")]
    assert loops
    return [_get_graph(each, "body", "_body_graph") for each in loops]


@pytest.mark.parametrize("made", [encoder, decoder])
def test_no_step_keeps_a_weight(made):
    import tensorflow as tf

    layer, outputs = made()
    graph = tf.function(lambda: gradients(layer, outputs), autograph=False).get_concrete_function().graph
    shapes = {tuple(weight.shape) for weight in layer.trainable_weights if len(weight.shape) > 1}
    operations = [each for body in bodies(graph) for each in body.get_operations()]
    kept = [each.inputs[1].shape for each in operations if each.type == "TensorListPushBack"]
    assert kept and shapes.isdisjoint(tuple(shape) for shape in kept if shape.rank is not None)
    assert not [each.name for each in operations if each.type == "ReadVariableOp"]


@pytest.mark.parametrize("made", [encoder, decoder])
def test_gradients_are_those_of_a_loop_that_reads_its_weights_itself(made, monkeypatch):
    from contextlib import nullcontext

    layer, outputs = made()
    found = gradients(layer, outputs)
    monkeypatch.setattr("zoo.recurrent.loop.read_before", lambda layer: nullcontext())
    for one, other in zip(found, gradients(layer, outputs), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-7)
