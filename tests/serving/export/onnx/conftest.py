"""A tiny attention decoder in a `tf.while_loop`, the graph that the loop passes exist for; and a SavedModel's twin."""

from types import SimpleNamespace

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import layers, ops

from serving.export.onnx.convert import convert
from zoo.core.signatures import Signature, TensorSpec

FEATURES, UNITS, VOCABULARY, STEPS = 3, 17, 23, 7
SIGNATURE = Signature(
    "decoder",
    (
        TensorSpec("x", "float32", ("batch", "time", FEATURES)),
        TensorSpec("lengths", "int32", ("batch",)),
    ),
    (
        TensorSpec("token_ids", "int32", ("batch", STEPS)),
        TensorSpec("logits", "float32", ("batch", VOCABULARY)),
        TensorSpec("carried", "float32", ("batch", UNITS)),
    ),
)


def greedy_decoder():
    """LSTM encoder, additive attention, GRU cell; the function owns its layers."""
    encoder = layers.LSTM(UNITS, return_sequences=True)
    keys, cell = layers.Dense(UNITS), layers.GRUCell(UNITS)
    embedding, output = layers.Embedding(VOCABULARY, UNITS), layers.Dense(VOCABULARY)

    def decode(x, lengths):
        rows, mask = ops.shape(x)[0], ops.arange(ops.shape(x)[1])[None, :] < lengths[:, None]
        memory = encoder(x, mask=mask)
        projected = keys(memory)

        def step(index, tokens, state, token_ids, logits, carried):
            scores = ops.sum(ops.tanh(state[:, None, :] + projected), -1)
            weights = ops.softmax(ops.where(mask, scores, -1e9))
            context = ops.sum(weights[:, :, None] * memory, 1)
            features = ops.concatenate([embedding(tokens), context], -1)
            hidden, (state,) = cell(features, [state])
            logits = output(hidden)
            best = ops.cast(logits == ops.max(logits, -1, keepdims=True), "int32")
            tokens = ops.cast(ops.argmax(best, -1), "int32")
            here = ops.arange(STEPS)[None, :] == index
            token_ids = ops.where(here, tokens[:, None], token_ids)
            return index + 1, tokens, state, token_ids, logits, carried

        start = (
            tf.constant(0),
            ops.ones((rows,), "int32"),
            ops.zeros((rows, UNITS)),
            ops.zeros((rows, STEPS), "int32"),
            ops.zeros((rows, VOCABULARY)),
            2.0 * ops.ones((rows, UNITS)),
        )
        _, _, _, *results = tf.while_loop(lambda index, *_: index < STEPS, step, start)
        return dict(zip(("token_ids", "logits", "carried"), results, strict=True))

    decode(**example((1, 2)))
    return decode


def example(shape):
    """Inputs of the decoder; the last row is empty where there are more than three."""
    rows, time = shape
    random = np.random.default_rng(rows)
    lengths = random.integers(1, time + 1, rows)
    lengths[-1] = 0 if rows > 3 else lengths[-1]
    x = random.normal(size=(rows, time, FEATURES)).astype("float32")
    return {"x": x, "lengths": lengths.astype("int32")}


def saved(function, owner, inputs, folder):
    """A SavedModel that was written and loaded; its `function` is the one that is given.

    Args:
        function: of named tensors.
        owner: the layer or model whose weights it uses.
        inputs: the `TensorSpec`s of its inputs.
        folder: where the SavedModel is written.
    """
    module = tf.Module()
    module.owner = owner
    specs = [tf.TensorSpec(each.static_shape, each.dtype, name=each.name) for each in inputs]
    module.function = tf.function(function, input_signature=specs)
    tf.saved_model.save(module, str(folder / "saved"))
    return tf.saved_model.load(str(folder / "saved"))


@pytest.fixture(scope="session")
def decoder():
    """The function, its converted model, its signature and a maker of inputs."""
    keras.utils.set_random_seed(3)
    function = greedy_decoder()
    model = convert(function, SIGNATURE)
    return SimpleNamespace(function=function, model=model, signature=SIGNATURE, example=example)
