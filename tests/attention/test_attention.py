"""Additive and dot-product attention against the papers' equations, and what they share."""

import numpy as np
import pytest
from keras import ops

from tests import oracles
from tests.attention.cases import ATTENTIONS
from tests.weights import randomised
from zoo.attention import AdditiveAttention, DotProductAttention
from zoo.check.laws import length_mask, sequences

ROWS = ((1, 7), (2, 5), (3, 0))
MASK = length_mask(ROWS, 7)


@pytest.fixture(params=ATTENTIONS)
def attention(request):
    layer = ATTENTIONS[request.param](5)
    layer.build((None, None, 3), (None, None, 11))
    return randomised(layer, 4, 1.0)


@pytest.fixture
def query():
    return sequences(((4, 13),) * 3, 13, 3)


@pytest.fixture
def value():
    return sequences(ROWS, 7, 11, noise=8)


def test_is_the_papers_equation(attention, query, value):
    context = ops.convert_to_numpy(attention(query, value, value_mask=MASK))
    weights = ops.convert_to_numpy(attention.attention_weights(query, value, value_mask=MASK))
    score = oracles.score_of(attention)
    for row, (_, length) in enumerate(ROWS):
        for j, s in enumerate(query[row].astype("float64")):
            expected, shares = oracles.attend(score, s, value[row, :length].astype("float64"))
            np.testing.assert_allclose(context[row, j], expected, atol=2e-6)
            np.testing.assert_allclose(weights[row, j, :length], shares, atol=2e-6)


def test_scores_are_the_papers(attention, query, value):
    received = attention.scores(ops.convert_to_tensor(query), attention.project(value))
    score = oracles.score_of(attention)
    expected = [[[score(s, h) for h in value[b]] for s in query[b]] for b in range(len(ROWS))]
    np.testing.assert_allclose(ops.convert_to_numpy(received), expected, rtol=1e-5, atol=2e-5)


def test_weights_are_shares_and_exactly_zero_on_padding(attention, query, value):
    weights = ops.convert_to_numpy(attention.attention_weights(query, value, value_mask=MASK))
    assert not np.any(weights[np.broadcast_to(~MASK[:, None], weights.shape)])
    np.testing.assert_allclose(weights[:2].sum(axis=-1), 1.0, atol=1e-6)
    assert not np.any(ops.convert_to_numpy(attention(query, value, value_mask=MASK))[2])


def test_masked_queries_give_zero(attention, query, value):
    query_mask = length_mask(((0, 13), (0, 2), (0, 0)), 13)
    context = ops.convert_to_numpy(attention(query, value, query_mask=query_mask))
    assert not np.any(context[~query_mask])
    assert np.all(np.any(np.abs(context[query_mask]) > 1e-3, axis=-1))


def test_a_cache_stands_for_the_value(attention, query, value):
    cache = attention.precompute(value)
    output, returned = attention(query, value_mask=MASK, cache=cache)
    assert returned.keys() == cache.keys()
    for name in cache:
        np.testing.assert_array_equal(*map(ops.convert_to_numpy, (returned[name], cache[name])))
    expected = attention(query, value, value_mask=MASK)
    np.testing.assert_array_equal(ops.convert_to_numpy(output), ops.convert_to_numpy(expected))


@pytest.mark.parametrize("name", ATTENTIONS)
def test_values_may_come_before_any_query(name, query, value):
    """A fresh layer projects a sentence before it has seen a query, as a decoder does."""
    layer = ATTENTIONS[name](5)
    output, _ = layer(query, cache=layer.precompute(value))
    np.testing.assert_array_equal(ops.convert_to_numpy(output), ops.convert_to_numpy(layer(query, value)))


@pytest.mark.parametrize("name", ATTENTIONS)
def test_self_attention_masks_by_the_querys_mask(name, value):
    layer = ATTENTIONS[name](5)
    alone = layer(value, query_mask=MASK)
    both = layer(value, value, query_mask=MASK, value_mask=MASK)
    np.testing.assert_array_equal(ops.convert_to_numpy(alone), ops.convert_to_numpy(both))


def test_additive_starts_uniform_where_v_is_zero(query, value):
    layer = AdditiveAttention(5)
    layer.build(query.shape, value.shape)
    layer.vector.assign(np.zeros(5))
    weights = ops.convert_to_numpy(layer.attention_weights(query, value, value_mask=MASK))
    for row, (_, length) in enumerate(ROWS[:2]):
        np.testing.assert_allclose(weights[row, :, :length], 1.0 / length, atol=1e-7)


def test_dot_with_identities_is_the_plain_dot_product():
    query, value = sequences(((1, 5),), 5, 7), sequences(((2, 3),), 3, 7)
    layer = DotProductAttention(7)
    layer.build(query.shape, value.shape)
    layer.query_projection.kernel.assign(np.eye(7))
    layer.key_projection.kernel.assign(np.eye(7))
    products = query[0].astype("float64") @ value[0].astype("float64").T
    expected = np.stack([oracles.softmax(row) for row in products]) @ value[0]
    np.testing.assert_allclose(ops.convert_to_numpy(layer(query, value))[0], expected, atol=1e-6)


@pytest.mark.parametrize("make", ATTENTIONS.values())
@pytest.mark.parametrize("units", [0, -3, 2.0, None])
def test_units_are_checked(make, units):
    with pytest.raises(ValueError, match=f"positive number of units.*units={units!r}"):
        make(units)
