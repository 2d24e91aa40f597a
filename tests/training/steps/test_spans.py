"""SpanSteps: windows follow the spans, programs are traced again when a rounded one changes, and only then."""

import keras
import numpy as np
import pytest
from keras import ops

from zoo.attention import AdaptiveSpanAttention, MultiHeadAttention
from zoo.blocks import PreNorm
from zoo.depth import Stack
from zoo.feedforward import FeedForward
from zoo.models import LanguageModel
from zoo.training import SmoothedCrossEntropy, SpanSteps


def model(attention):
    made = LanguageModel(13, Stack([PreNorm(attention, FeedForward(8, 8))]), dropout=0.0)
    made.build()
    return made


def batch(step):
    ids = np.random.default_rng(step).integers(0, 13, (2, 33)).astype("int32")
    return {"token_ids": ids[:, :-1], "labels": ids[:, 1:], "weights": np.ones((2, 32), "float32")}


@pytest.mark.slow
def test_a_program_is_traced_again_where_a_rounded_span_changes():
    keras.utils.set_random_seed(1)
    attention = AdaptiveSpanAttention(8, 2, max_span=32, ramp=4, penalty=0.5, initial_span=20)
    made = model(attention)
    steps = SpanSteps(made, keras.optimizers.Adam(0.02), SmoothedCrossEntropy(), every=2, multiple=8, slack=1)
    assert steps.windows == [24]
    windows = []
    for step in range(60):
        steps.train(batch(step))
        windows.append(steps.windows[0])
    steps.sync()
    assert windows[-1] == 8 < windows[0], "the penalty shrinks the spans, and the windows follow"
    assert steps.num_programs == len(set(windows)) <= 3
    assert np.all(ops.convert_to_numpy(attention.spans()) >= 0)
    before = ops.convert_to_numpy(made(batch(0)))
    attention.window = 32
    np.testing.assert_allclose(ops.convert_to_numpy(made(batch(0))), before, atol=1e-5)


def test_a_model_without_spans_is_refused():
    with pytest.raises(ValueError, match="AdaptiveSpanAttention.*0 such layers"):
        SpanSteps(model(MultiHeadAttention(8, 2)), keras.optimizers.Adam(), SmoothedCrossEntropy())
