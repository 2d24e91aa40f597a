"""The loops of recurrent layers: that of training gives what Keras' own gives, which keeps no copies of weights."""

import keras
import numpy as np
import pytest
from keras import ops

from tests.recurrent.cases import ATTENTIONS
from tests.weights import randomised
from zoo.attention import AdditiveAttention
from zoo.recurrent import RecurrentDecoder, RecurrentEncoder, loop

ROWS, TIME, SEEN, UNITS = 3, 5, 4, 4
MASKS = {"whole": None, "masked": np.arange(TIME) < np.array([[5], [3], [0]])}


class Decoder(keras.layers.Layer):
    """A decoder that looks at what it is given."""

    def __init__(self, cell, attention):
        super().__init__()
        self.supports_masking = True
        self.decoder = RecurrentDecoder(UNITS, cell, attention)

    def call(self, x, values, mask=None, training=None):
        seen = ops.arange(SEEN)[None] < ops.convert_to_tensor([[4], [2], [1]])
        memory = self.decoder.remember(values, seen, [values[:, 0]] * (2 if self.decoder.cell == "lstm" else 1))
        return self.decoder(x, memory, training=training, inputs_mask=mask), ()


class Random(AdditiveAttention):
    """An attention that draws random numbers."""

    def __init__(self, units):
        super().__init__(units)
        self.dropout = keras.layers.Dropout(0.5, seed=1)

    def scores(self, query, keys):
        return super().scores(self.dropout(query, training=True), keys)


def drawn(layer, *inputs):
    """The layer, built, with weights that matter."""
    layer(*inputs)
    return randomised(layer, 1)


def results(layer, inputs, mask, training):
    """The outputs, the states, and the gradients of weights and inputs of a number made of both."""

    def number(found):
        outputs, states = found
        return ops.mean(ops.square(outputs)) + sum(ops.mean(ops.sin(each)) for each in states)

    if keras.backend.backend() == "jax":
        import jax

        fixed = [each.value for each in layer.non_trainable_variables]

        @jax.jit
        def compute(trained, *inputs):
            def lost(trained, *inputs):
                found, _ = layer.stateless_call(trained, fixed, *inputs, mask=mask, training=training)
                return number(found), found

            return jax.grad(lost, tuple(range(1 + len(inputs))), has_aux=True)(trained, *inputs)

        gradients, found = compute([each.value for each in layer.trainable_variables], *inputs)
    else:
        import tensorflow as tf

        inputs = [tf.convert_to_tensor(each) for each in inputs]
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            found = layer(*inputs, mask=mask, training=training)
            lost = number(found)
        weights = [each.value for each in layer.trainable_variables]
        gradients = tape.gradient(lost, [*weights, *inputs], unconnected_gradients="zero")
    return [ops.convert_to_numpy(each) for each in keras.tree.flatten([gradients, found])]


def assert_as_keras(layer, inputs, mask):
    pairs = zip(results(layer, inputs, mask, True), results(layer, inputs, mask, False), strict=True)
    for own, theirs in pairs:
        np.testing.assert_allclose(own, theirs, atol=1e-6)


def normal(*shape):
    return np.random.default_rng(0).normal(size=shape).astype("float32")


@pytest.mark.slow(but="masked")
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize("cell", loop.STEPS)
def test_an_encoder(cell, bidirectional, mask):
    x = normal(ROWS, TIME, 3)
    layer = drawn(RecurrentEncoder(UNITS, cell, num_layers=2, bidirectional=bidirectional), x)
    assert_as_keras(layer, [x], MASKS[mask])


@pytest.mark.slow(but="masked")
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("attention", [None, *ATTENTIONS])
@pytest.mark.parametrize("cell", loop.STEPS)
def test_a_decoder(cell, attention, mask):
    inputs = normal(ROWS, TIME, 3), normal(ROWS, SEEN, 6)
    layer = drawn(Decoder(cell, attention and ATTENTIONS[attention](UNITS)), *inputs)
    assert_as_keras(layer, inputs, MASKS[mask])


def test_other_forms_keep_to_keras(monkeypatch):
    """Cho's first GRU multiplies twice in each step, two layers have two cells, and a dropout would be drawn anew."""
    monkeypatch.setattr(loop, "run", lambda *args, **kwargs: pytest.fail("the loop of training was called"))
    x = normal(ROWS, TIME, 3)
    RecurrentEncoder(UNITS, "gru_reset_before")(x, training=True)
    RecurrentEncoder(UNITS, "gru")(x, training=False)
    for decoder in (RecurrentDecoder(UNITS, "gru", num_layers=2), RecurrentDecoder(UNITS, "gru", Random(UNITS))):
        decoder(x, decoder.remember(x, np.ones((ROWS, TIME), bool), [x[:, 0]]), training=True)


def test_bfloat16_computes_in_bfloat16():
    x = normal(ROWS, TIME, 3)
    layer = drawn(RecurrentEncoder(UNITS, "lstm", dtype="mixed_bfloat16"), x)
    outputs, states = layer(x, mask=MASKS["masked"], training=True)
    assert {keras.backend.standardize_dtype(each.dtype) for each in (outputs, *states)} == {"bfloat16"}
    theirs, _ = layer(x, mask=MASKS["masked"])
    np.testing.assert_allclose(
        *(ops.convert_to_numpy(ops.cast(each, "float32")) for each in (outputs, theirs)), atol=0.03
    )


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
