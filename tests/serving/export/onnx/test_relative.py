"""Transformers as T5 and Marian's students are, in one graph: biases go into the fused operator, and all is equal."""

import numpy as np
import pytest

from serving.export.onnx.convert import convert, load
from serving.export.signatures import find, generation
from tests.models.settings import CASES
from tests.weights import randomised

STEPS = 9
SHAPES = ((1, 1), (1, 7), (3, 5), (8, 13))


@pytest.mark.parametrize("beams", [1, pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "name",
    ["with-an-output", *(pytest.param(each, marks=pytest.mark.slow) for each in ("ssru", "t5"))],
)
def test_tokens_and_scores_are_those_of_keras(name, beams):
    (case,) = [case for case in CASES if case.name == f"transformer-{name}"]
    model = randomised(case.make(), 3)
    function = generation(model, beams, STEPS, 0.6)
    signature = find(model.signatures(), "tokens").fix(beams=beams, output_time=STEPS)
    graph = convert(function, signature)
    session = load(graph)
    for rows, time in SHAPES[:3] if name == "with-an-output" else SHAPES:  # it has 11 positions
        random = np.random.default_rng(rows * time)
        lengths = random.integers(1, time + 1, rows).astype("int32")
        lengths[3:4] = 0
        inputs = {"token_ids": random.integers(4, 11, (rows, time)).astype("int32"), "lengths": lengths}
        expected = function(**inputs)
        ids, lengths, scores = session.run(None, inputs)
        np.testing.assert_array_equal(ids, expected["output_ids"])
        np.testing.assert_array_equal(lengths, expected["output_lengths"])
        np.testing.assert_allclose(scores, expected["scores"], atol=1e-4)
