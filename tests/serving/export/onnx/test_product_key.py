"""Product-key memory in one ONNX graph and one SavedModel for all lengths: both top-k are native operators."""

import numpy as np
import pytest

from serving.export.onnx.convert import convert, load
from tests.serving.export.onnx.twins import saved
from zoo.core.signatures import Signature, TensorSpec
from zoo.feedforward import ProductKeyMemory

VECTORS = TensorSpec("x", "float32", ("batch", "time", 8)), TensorSpec("y", "float32", ("batch", "time", 8))
SIGNATURE = Signature("remember", VECTORS[:1], VECTORS[1:])


@pytest.mark.slow(but="layer")
@pytest.mark.parametrize("query_norm", ["batch", "layer"])
def test_one_graph_serves_all_lengths(query_norm, tmp_path):
    layer = ProductKeyMemory(8, 13, 2, 5, 6, query_norm, seed=1)
    layer.build((None, None, 8))
    if query_norm == "batch":
        layer.norm.moving_mean.assign(np.linspace(-1, 1, 12))

    def remember(x):
        return {"y": layer(x)}

    session = load(convert(remember, SIGNATURE))
    loaded = saved(remember, layer, SIGNATURE.inputs, tmp_path)
    for batch, time in ((1, 1), (3, 7), (2, 101)):
        x = np.random.default_rng(time).normal(size=(batch, time, 8)).astype("float32")
        (received,) = session.run(["y"], {"x": x})
        np.testing.assert_allclose(received, remember(x)["y"], atol=1e-5)
        np.testing.assert_allclose(loaded.function(x)["y"], remember(x)["y"], atol=1e-5)
