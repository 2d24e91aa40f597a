"""The recurrence in the place of self-attention: the paper's equation, its gradients, its steps, what is refused."""

import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from tests.weights import randomised
from zoo.attention import SSRU, MultiHeadAttention
from zoo.attention.ssru import linear_recurrence
from zoo.blocks import PostNorm, PreNorm
from zoo.check.laws import length_mask, sequences
from zoo.check.steps import check_steps
from zoo.depth import Stack
from zoo.feedforward import FeedForward
from zoo.models import LanguageModel, Transformer

ROWS = ((1, 17), (2, 9), (3, 0))
X, MASK = sequences(ROWS, 17, 5), length_mask(ROWS, 17)


def made(units=7, width=5):
    layer = SSRU(units)
    layer.build((None, None, width))
    return randomised(layer, 3)


def by_the_equation(layer, x):
    """`(time, units)` of one row, position by position, in float64."""
    w, w_f, b_f = (ops.convert_to_numpy(each).astype("float64") for each in layer.weights)
    c, found = np.zeros(layer.units), []
    for x_t in x.astype("float64"):
        f = 1 / (1 + np.exp(-(x_t @ w_f + b_f)))
        c = f * c + (1 - f) * (x_t @ w)
        found.append(np.maximum(c, 0))
    return np.array(found).reshape(-1, layer.units)


def test_is_the_papers_equation():
    layer = made()
    received = ops.convert_to_numpy(layer(X, query_mask=MASK, causal=True))
    for row, (_, length) in enumerate(ROWS):
        np.testing.assert_allclose(received[row, :length], by_the_equation(layer, X[row, :length]), atol=1e-6)
        assert not received[row, length:].any()


def test_a_position_that_is_masked_is_not_there():
    """Wherever it stands: the state passes it by."""
    layer, mask = made(), np.random.default_rng(5).random((3, 17)) < 0.5
    received = ops.convert_to_numpy(layer(X, query_mask=mask, causal=True))
    for row, kept in enumerate(mask):
        np.testing.assert_allclose(received[row, kept], by_the_equation(layer, X[row, kept]), atol=1e-6)


def test_its_gradients_are_those_of_small_differences():
    generator = np.random.default_rng(6)
    keep, new, upstream = (generator.normal(size=(7, 3, 2)) for _ in range(3))
    given = [tf.convert_to_tensor(each) for each in (keep, new)]
    with tf.GradientTape() as tape:
        tape.watch(given)
        total = tf.reduce_sum(linear_recurrence(*given) * upstream)
    for place, gradient in enumerate(tape.gradient(total, given)):
        expected = np.zeros_like(keep)
        for at in np.ndindex(*keep.shape):
            sides = []
            for change in (1e-6, -1e-6):
                arrays = [keep.copy(), new.copy()]
                arrays[place][at] += change
                sides.append(np.sum(linear_recurrence(*map(tf.convert_to_tensor, arrays)) * upstream))
            expected[at] = (sides[0] - sides[1]) / 2e-6
        np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-7)


def test_what_a_translator_remembers_is_one_vector_of_each_beam():
    decoder = [PostNorm(SSRU(6), FeedForward(6, 8), MultiHeadAttention(6, 2)) for _ in range(2)]
    encoder = Stack([PostNorm(MultiHeadAttention(6, 2), FeedForward(6, 8))])
    model = Transformer(11, 13, encoder, Stack(decoder))
    model.build()
    _, state = model.start(model.encode(np.ones((2, 5), "int32"), np.array([5, 2], "int32")), 3)
    assert {*state} == {"position", "caches"}
    assert [tuple(cache["state"].shape) for cache in state["caches"]] == [(2, 3, 6)] * 2


def test_prompts_may_all_be_empty():
    model = LanguageModel(13, Stack([PreNorm(SSRU(6), FeedForward(6, 8))]), dropout=0.0)
    model.build()
    following = np.random.default_rng(4).integers(4, 13, (2, 2, 3)).astype("int32")
    check_steps(model, np.zeros((2, 0), "int32"), np.zeros(2, "int32"), following)


@pytest.mark.parametrize(
    ("given", "said"), [({"value": X, "causal": True}, "received a value"), ({}, "received causal=False")]
)
def test_other_directions_are_refused(given, said):
    with pytest.raises(ValueError, match=f"expected value=None and causal=True, {said}"):
        made()(X, **given)


def test_it_is_refused_where_a_memory_is_looked_at():
    with pytest.raises(ValueError, match="Received: SSRU, which attends over its own positions alone"):
        PreNorm(MultiHeadAttention(6, 2), FeedForward(6, 8), SSRU(6))


@pytest.mark.parametrize("units", [0, 2.0, None])
def test_sizes_are_checked(units):
    with pytest.raises(ValueError, match="positive number of units. Received: units="):
        SSRU(units)
