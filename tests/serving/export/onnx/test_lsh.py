"""LSH attention in one ONNX graph for all lengths: sorting, chunks and padding are native operators."""

import numpy as np
import pytest

from serving.export.onnx.convert import convert, load
from tests.serving.export.onnx.twins import saved
from zoo.attention import LSHAttention
from zoo.core.signatures import Signature, TensorSpec
from zoo.depth import make_reformer_stack
from zoo.models import LanguageModel

VECTORS = TensorSpec("x", "float32", ("batch", "time", 8)), TensorSpec("mask", "bool", ("batch", "time"))


@pytest.mark.release(but="settings1")
@pytest.mark.parametrize("settings", [{"num_buckets": 8}, {"num_buckets": [4, 2], "rounds": 3, "use_bias": True}])
def test_one_graph_serves_all_lengths(settings):
    layer = LSHAttention(8, 2, chunk_length=4, seed=1, **settings)
    layer.build((None, None, 8))
    random = np.random.default_rng(0)

    def attend(x, mask):
        return {"y": layer(x, value_mask=mask, causal=True)}

    signature = Signature("attend", VECTORS, (TensorSpec("y", "float32", ("batch", "time", 8)),))
    session = load(convert(attend, signature))
    for batch, time in ((1, 1), (2, 4), (3, 7), (1, 50), (2, 211)):
        lengths = random.integers(0, time + 1, batch)
        inputs = {"x": random.normal(size=(batch, time, 8)).astype("float32")}
        inputs["mask"] = np.arange(time) < lengths[:, None]
        (received,) = session.run(["y"], inputs)
        np.testing.assert_allclose(received, attend(**inputs)["y"], atol=1e-5)


@pytest.mark.slow
def test_a_language_model_is_the_same_everywhere(tmp_path):
    """Keras, a SavedModel and ONNX Runtime, each one graph for all lengths."""
    hashing = {"num_buckets": 8, "chunk_length": 4}
    model = LanguageModel(13, make_reformer_stack(2, 8, 2, 16, hashing=hashing, chunks=2, seed=1))
    model.build()

    def score(token_ids):
        return {"logits": model({"token_ids": token_ids})}

    ids = TensorSpec("token_ids", "int32", ("batch", "time"))
    signature = Signature("score", (ids,), (TensorSpec("logits", "float32", ("batch", "time", 13)),))
    session = load(convert(score, signature))
    loaded = saved(score, model, signature.inputs, tmp_path)
    for batch, time in ((1, 1), (2, 5), (3, 16), (1, 211)):
        token_ids = np.random.default_rng(time).integers(0, 13, (batch, time)).astype("int32")
        expected = score(token_ids)["logits"].numpy()
        (received,) = session.run(["logits"], {"token_ids": token_ids})
        np.testing.assert_allclose(received, expected, atol=1e-4)
        np.testing.assert_allclose(loaded.function(token_ids)["logits"].numpy(), expected, atol=1e-4)
