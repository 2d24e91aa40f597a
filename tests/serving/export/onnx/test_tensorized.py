"""Multi-linear attention in one ONNX graph and one SavedModel for all lengths up to its bound."""

import numpy as np
import pytest
import tensorflow as tf

from serving.export.onnx.convert import convert, load
from zoo.attention import MultiLinearAttention
from zoo.core.signatures import Signature, TensorSpec

VECTORS = TensorSpec("x", "float32", ("batch", "time", 8)), TensorSpec("mask", "bool", ("batch", "time"))
SIGNATURE = Signature("attend", VECTORS, (TensorSpec("y", "float32", ("batch", "time", 8)),))


@pytest.mark.parametrize("mode", ["split_concat", "reconstruct"])
def test_one_graph_serves_all_lengths(mode, tmp_path):
    layer = MultiLinearAttention(8, 5, max_time=23, mode=mode)
    layer.build((None, None, 8))

    def attend(x, mask):
        return {"y": layer(x, value_mask=mask, causal=True)}

    session = load(convert(attend, SIGNATURE))
    module = tf.Module()
    module.layer = layer
    specs = [tf.TensorSpec((None, None, 8), name="x"), tf.TensorSpec((None, None), "bool", name="mask")]
    module.attend = tf.function(attend, input_signature=specs)
    tf.saved_model.save(module, str(tmp_path / "saved"))
    loaded = tf.saved_model.load(str(tmp_path / "saved"))
    for batch, time in ((1, 1), (3, 7), (2, 23)):
        random = np.random.default_rng(time)
        inputs = {"x": random.normal(size=(batch, time, 8)).astype("float32")}
        inputs["mask"] = np.arange(time) < random.integers(0, time + 1, batch)[:, None]
        expected = attend(**inputs)["y"]
        (received,) = session.run(["y"], inputs)
        np.testing.assert_allclose(received, expected, atol=1e-5)
        np.testing.assert_allclose(loaded.attend(**inputs)["y"], expected, atol=1e-5)
