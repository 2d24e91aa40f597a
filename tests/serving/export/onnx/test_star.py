"""A Star-Transformer in one ONNX graph for all lengths, and in an artefact."""

import numpy as np
import pytest

from serving.export.onnx.convert import convert, load
from zoo.core.signatures import Signature, TensorSpec
from zoo.depth import make_star_stack

VECTORS = TensorSpec("x", "float32", ("batch", "time", 8)), TensorSpec("mask", "bool", ("batch", "time"))


@pytest.mark.slow
def test_one_graph_serves_all_lengths():
    stack = make_star_stack(2, 8, 2)
    stack.build((None, None, 8))
    random = np.random.default_rng(0)

    def read(x, mask):
        return {"states": stack(x, mask=mask), "summary": stack(x, mask=mask, summary=True)}

    outputs = TensorSpec("states", "float32", ("batch", "time", 8)), TensorSpec("summary", "float32", ("batch", 8))
    session = load(convert(read, Signature("read", VECTORS, outputs)))
    for batch, time in ((1, 1), (2, 4), (3, 7), (2, 211)):
        lengths = random.integers(0, time + 1, batch)
        inputs = {"x": random.normal(size=(batch, time, 8)).astype("float32")}
        inputs["mask"] = np.arange(time) < lengths[:, None]
        for received, expected in zip(session.run(["states", "summary"], inputs), read(**inputs).values(), strict=True):
            np.testing.assert_allclose(received, expected, atol=1e-4)
