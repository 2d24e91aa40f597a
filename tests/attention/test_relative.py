"""Attention with a bias for each distance: the paper's buckets, its equation, its steps, its sizes."""

import numpy as np
import pytest
from keras import ops

from tests import transformer_oracles
from tests.weights import randomised
from zoo.attention import RelativeAttention
from zoo.attention.relative import buckets
from zoo.check.laws import length_mask, sequences

ROWS = ((1, 17), (2, 9), (3, 0))
X, MASK = sequences(ROWS, 17, 6), length_mask(ROWS, 17)


def made(**settings):
    layer = RelativeAttention(6, 2, **{"num_buckets": 8, "max_distance": 12, **settings})
    layer.build((None, None, 6))
    return randomised(layer, 3)


def test_buckets_are_those_of_t5():
    """What transformers 5.23 gives for 32 buckets and 128 positions, of both ways and of one."""
    half, whole = buckets(16, 128), buckets(32, 128)
    starts = [0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91]
    assert np.flatnonzero(np.diff(half, prepend=-1)).tolist() == starts
    starts = [*range(16), 16, 19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113]
    assert np.flatnonzero(np.diff(whole, prepend=-1)).tolist() == starts
    assert (len(half), half[-1], whole[-1]) == (129, 15, 31)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("settings", [{}, {"head_units": 5}, {"use_bias": True, "num_buckets": 4, "max_distance": 3}])
def test_is_the_papers_equation(settings, causal):
    layer = made(**settings)
    received = ops.convert_to_numpy(layer(X, value_mask=MASK, causal=causal))
    attend = transformer_oracles.multi_head(layer)
    for row, (_, length) in enumerate(ROWS):
        x = X[row, :length].astype("float64")
        np.testing.assert_allclose(received[row, :length], attend(x, x, causal), atol=2e-5)


def test_its_dropout_is_on_the_same_weights():
    """Without a fused product: with a dropout that drops nothing, training is the pass without."""
    layer = made(dropout=1e-9, seed=1)
    for causal in (False, True):
        one, other = (ops.convert_to_numpy(layer(X, causal=causal, training=training)) for training in (False, True))
        np.testing.assert_allclose(one, other, atol=1e-5)


def test_weights_are_for_plots_too():
    layer = made()
    weights = ops.convert_to_numpy(layer.attention_weights(X, value_mask=MASK))
    values = ops.convert_to_numpy(layer.split_heads(layer.value_projection(X)))
    mixed = layer.output_projection(layer.join_heads(ops.convert_to_tensor(weights @ values)))
    np.testing.assert_allclose(ops.convert_to_numpy(layer(X, value_mask=MASK)), ops.convert_to_numpy(mixed), atol=1e-5)


@pytest.mark.parametrize(
    "sizes", [{"num_buckets": 2}, {"num_buckets": 7}, {"num_buckets": 8.0}, {"max_distance": 4}, {"max_distance": None}]
)
def test_sizes_are_checked(sizes):
    with pytest.raises(ValueError, match="even num_buckets of at least 4.*Received: num_buckets="):
        made(**sizes)


def test_a_memory_is_refused():
    with pytest.raises(ValueError, match="distances within one text: expected value=None"):
        made()(X, X)
