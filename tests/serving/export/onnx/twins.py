"""What several tests compare a converted function with: its SavedModel, and inputs of every length."""

import numpy as np
import tensorflow as tf

from zoo.core.signatures import Signature, TensorSpec

VECTORS = TensorSpec("x", "float32", ("batch", "time", 8)), TensorSpec("mask", "bool", ("batch", "time"))
ATTEND = Signature("attend", VECTORS, (TensorSpec("y", "float32", ("batch", "time", 8)),))


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


def check_attention(attend, session, loaded, longest, atol):
    """The session and the SavedModel answer as `attend` does, for one position, and for as many as `longest`."""
    for batch, time in ((1, 1), (3, 7), (2, longest)):
        random = np.random.default_rng(time)
        inputs = {"x": random.normal(size=(batch, time, 8)).astype("float32")}
        inputs["mask"] = np.arange(time) < random.integers(0, time + 1, batch)[:, None]
        expected = attend(**inputs)["y"]
        (received,) = session.run(["y"], inputs)
        np.testing.assert_allclose(received, expected, atol=atol)
        np.testing.assert_allclose(loaded.function(**inputs)["y"], expected, atol=atol)
