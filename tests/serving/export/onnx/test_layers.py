"""Layers and stacks in one ONNX graph and one SavedModel for all lengths: both answer as Keras does.

Bands, chunks, sorting and the best keys are native operators, and a loop ends where the last position halts, there too.
"""

import numpy as np
import pytest

from serving.export.onnx.convert import convert, load
from tests.serving.export.onnx.conftest import saved
from zoo.attention import AdaptiveSpanAttention, LSHAttention, MultiLinearAttention
from zoo.core.signatures import Signature, TensorSpec
from zoo.depth import Halting, make_reformer_stack, make_star_stack, make_universal_stack
from zoo.feedforward import ProductKeyMemory

VECTORS = TensorSpec("x", "float32", ("batch", "time", 8)), TensorSpec("mask", "bool", ("batch", "time"))
STATES = TensorSpec("y", "float32", ("batch", "time", 8))
SUMMARY, STEPS = TensorSpec("summary", "float32", ("batch", 8)), TensorSpec("steps", "int32", ())


def attention(layer):
    return layer, lambda x, mask: {"y": layer(x, value_mask=mask, causal=True)}


def spans(dynamic):
    layer = AdaptiveSpanAttention(8, 2, max_span=32, ramp=4, dynamic=dynamic)
    layer.build((None, None, 8))
    if not dynamic:
        layer.fractions.assign([0.05, 0.2])
        assert layer.trim() == 10
    return attention(layer)


def memory(query_norm):
    layer = ProductKeyMemory(8, 13, 2, 5, 6, query_norm, seed=1)
    layer.build((None, None, 8))
    if query_norm == "batch":
        layer.norm.moving_mean.assign(np.linspace(-1, 1, 12))
    return layer, lambda x, mask: {"y": layer(x)}


def reformer():
    hashing = {"num_buckets": 8, "chunk_length": 4}
    stack = make_reformer_stack(2, 8, 2, 16, hashing=hashing, chunks=2, seed=1)
    return stack, lambda x, mask: {"y": stack(x, mask=mask, causal=True)}


def star():
    stack = make_star_stack(2, 8, 2)
    return stack, lambda x, mask: {"y": stack(x, mask=mask), "summary": stack(x, mask=mask, summary=True)}


def thinking(rule):
    stack = make_universal_stack(9, 8, 2, 16, Halting(rule))
    stack.build((None, None, 8))
    kernel, bias = stack.halting.dense.weights
    kernel.assign(np.random.default_rng(1).normal(0, 1, kernel.shape))
    bias.assign([-1.0])

    def think(x, mask):
        outputs, thought = stack.ponder(x, mask=mask)
        return {"y": outputs, "steps": thought["steps"]}

    return stack, think


SLOW, RELEASE = [pytest.mark.slow], [pytest.mark.release]
CASES = {  # what makes the layer and its function; the outputs; the longest time; the difference; where it is run
    "spans": (lambda: spans(False), [STATES], 101, 1e-4, []),
    "dynamic spans": (lambda: spans(True), [STATES], 101, 1e-4, SLOW),
    "hashes": (lambda: attention(LSHAttention(8, 2, 8, 4, seed=1)), [STATES], 211, 1e-5, RELEASE),
    "hashes in rounds": (
        lambda: attention(LSHAttention(8, 2, [4, 2], 4, rounds=3, use_bias=True, seed=1)),
        *([STATES], 211, 1e-5, []),
    ),
    "reformer": (reformer, [STATES], 211, 1e-4, SLOW),
    "tensors": (lambda: attention(MultiLinearAttention(8, 5, max_time=23)), [STATES], 23, 1e-5, []),
    "tensors, reconstructed": (
        lambda: attention(MultiLinearAttention(8, 5, max_time=23, mode="reconstruct")),
        *([STATES], 23, 1e-5, SLOW),
    ),
    "memory, batch norm": (lambda: memory("batch"), [STATES], 101, 1e-5, SLOW),
    "memory, layer norm": (lambda: memory("layer"), [STATES], 101, 1e-5, []),
    "star": (star, [STATES, SUMMARY], 211, 1e-4, SLOW),
    "thinking": (lambda: thinking("accumulated"), [STATES, STEPS], 53, 1e-4, SLOW),
    "thinking, interpolated": (lambda: thinking("interpolated"), [STATES, STEPS], 53, 1e-4, RELEASE),
}


@pytest.mark.parametrize("name", [pytest.param(name, marks=marks) for name, (*_, marks) in CASES.items()])
def test_one_graph_serves_all_lengths(name, tmp_path):
    make, outputs, longest, atol, _ = CASES[name]
    owner, function = make()
    function(**inputs(2, 4))  # which builds what is not built
    converted = convert(function, Signature("f", VECTORS, tuple(outputs)))
    session, loaded, found = load(converted), saved(function, owner, VECTORS, tmp_path), set()
    for batch, time in ((1, 1), (1, 2), (2, 4), (3, 7), (2, longest)):
        given = inputs(batch, time)
        expected, other = function(**given), loaded.function(**given)
        for output, received in zip(outputs, session.run([each.name for each in outputs], given), strict=True):
            for each in (received, other[output.name]):
                np.testing.assert_allclose(each, expected[output.name], atol=atol if output is not STEPS else 0)
        found.add(int(expected.get("steps", 0)))
    if STEPS in outputs:
        assert "Loop" in {node.op_type for node in converted.graph.node}
        assert len(found) > 1 and max(found) < 9, found


def inputs(batch, time):
    """Vectors of which the rows have other lengths; one may be empty."""
    random = np.random.default_rng(time)
    x = random.normal(size=(batch, time, 8)).astype("float32")
    return {"x": x, "mask": np.arange(time) < random.integers(0, time + 1, batch)[:, None]}
