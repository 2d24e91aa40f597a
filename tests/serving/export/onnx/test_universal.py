"""A Universal Transformer in ONNX and SavedModel: the loop ends where the last position halts, there too."""

import numpy as np
import pytest

from serving.export.onnx.convert import convert, load
from tests.serving.export.onnx.twins import saved
from zoo.core.signatures import Signature, TensorSpec
from zoo.depth import Halting, make_universal_stack

VECTORS = TensorSpec("x", "float32", ("batch", "time", 8)), TensorSpec("mask", "bool", ("batch", "time"))
OUTPUTS = TensorSpec("y", "float32", ("batch", "time", 8)), TensorSpec("steps", "int32", ())


def thinking(rule):
    stack = make_universal_stack(9, 8, 2, 16, Halting(rule))
    stack.build((None, None, 8))
    kernel, bias = stack.halting.dense.weights
    kernel.assign(np.random.default_rng(1).normal(0, 1, kernel.shape))
    bias.assign([-1.0])

    def think(x, mask):
        outputs, thought = stack.ponder(x, mask=mask)
        return {"y": outputs, "steps": thought["steps"]}

    return think


@pytest.mark.slow
@pytest.mark.release(but=1)
@pytest.mark.parametrize("rule", ["accumulated", pytest.param("interpolated", marks=pytest.mark.slow)])
def test_the_loop_stops_early_everywhere(rule, tmp_path):
    think, random, found = thinking(rule), np.random.default_rng(0), set()
    converted = convert(think, Signature("think", VECTORS, OUTPUTS))
    assert "Loop" in {node.op_type for node in converted.graph.node}
    session = load(converted)
    loaded = saved(think, think.__closure__[0].cell_contents, VECTORS, tmp_path)
    for batch, time in ((1, 1), (1, 2), (2, 4), (3, 7), (2, 53)):
        lengths = random.integers(1, time + 1, batch)
        inputs = {"x": random.normal(size=(batch, time, 8)).astype("float32")}
        inputs["mask"] = np.arange(time) < lengths[:, None]
        expected = think(**inputs)
        for received in (
            session.run(["y", "steps"], inputs),
            [loaded.function(**inputs)[name] for name in ("y", "steps")],
        ):
            np.testing.assert_allclose(received[0], expected["y"], atol=1e-4)
            assert int(received[1]) == int(expected["steps"])
        found.add(int(expected["steps"]))
    assert len(found) > 1 and max(found) < 9, found
