"""Losses that layers add where activations are computed again: counted once, with their gradients."""

import numpy as np
import pytest
import tensorflow as tf
from keras import layers, ops

from zoo.attention import AdaptiveSpanAttention
from zoo.blocks import PreNorm
from zoo.check.laws import sequences
from zoo.depth import ReversibleStack
from zoo.feedforward import ChunkedFeedForward, FeedForward

X = sequences(((1, 7), (2, 3)), 7, 6)


class Penalty(layers.Layer):
    units = 6

    def call(self, x, training=None):
        self.add_loss(ops.sum(x))
        return x


@pytest.mark.slow(but=3)
@pytest.mark.parametrize("activations", ["checkpoint", "reversible"])
@pytest.mark.parametrize("chunked", [False, True])
def test_losses_that_layers_add_come_out_once_with_their_gradients(activations, chunked):
    """Such as the penalty of an adaptive span: as of a stack that keeps its activations."""
    found = {}
    for each in ("plain", activations):
        span = AdaptiveSpanAttention(6, 2, max_span=5, ramp=2, penalty=0.5, dynamic=True)
        wide = FeedForward(6, 8)
        wide = Penalty() if chunked else wide
        stack = ReversibleStack([PreNorm(span, ChunkedFeedForward(wide, 2) if chunked else wide)], each)
        stack(X, causal=True)
        if found:
            stack.set_weights(found["plain"][0])
        with tf.GradientTape() as tape:
            output = stack(X, causal=True, training=True)
            losses = [ops.convert_to_numpy(loss) for loss in stack.losses]
            total = ops.sum(output**2) + ops.sum(ops.stack(stack.losses))
        gradients = tape.gradient(total, [weight.value for weight in stack.trainable_weights])
        found[each] = stack.get_weights(), sum(losses), gradients
    assert found[activations][1] == pytest.approx(found["plain"][1], rel=1e-5) and found["plain"][1] > 0
    for one, other in zip(found[activations][2], found["plain"][2], strict=True):
        np.testing.assert_allclose(ops.convert_to_numpy(one), ops.convert_to_numpy(other), rtol=2e-3, atol=2e-4)
