"""Multi-head attention: the paper's equation, Keras' own layer on the same weights, masks, caches, steps."""

import keras
import numpy as np
import pytest
from keras import ops

from tests import transformer_oracles
from tests.attention.cases import MULTI_HEAD
from tests.weights import randomised
from zoo.attention import MultiHeadAttention, multi_head
from zoo.check import laws
from zoo.check.laws import length_mask, sequences

ROWS = ((1, 7), (2, 3), (3, 0))
QUERY, VALUE, MASK = sequences(((4, 5),) * 3, 5, 11), sequences(ROWS, 7, 13, noise=5), length_mask(ROWS, 7)


def made(*inputs, **settings):
    layer = MultiHeadAttention(15, 3, **settings)
    layer(*inputs)
    return randomised(layer, 3, 0.4)


@pytest.mark.slow
@pytest.mark.parametrize("use_bias", [True, False])
def test_is_the_papers_equation(use_bias):
    """Over a memory of other units and lengths, one of which is 0."""
    layer = made(QUERY, VALUE, use_bias=use_bias)
    received = ops.convert_to_numpy(layer(QUERY, VALUE, value_mask=MASK))
    attend = transformer_oracles.multi_head(layer)
    for row, (_, length) in enumerate(ROWS):
        np.testing.assert_allclose(received[row], attend(QUERY[row], VALUE[row, :length]), atol=1e-5)


def test_an_accelerator_gets_a_mask_that_its_kernel_can_take(monkeypatch):
    """On an H200 cuDNN refused a row of keys for all queries, so Keras logged an error and used no kernel."""
    layer, kernel, seen = made(QUERY, VALUE), ops.dot_product_attention, []

    def attend(*heads, mask, flash_attention, **settings):
        seen.append((tuple(mask.shape), flash_attention))
        return kernel(*heads, mask=mask, **settings)

    monkeypatch.setattr(ops, "dot_product_attention", attend)
    expected = ops.convert_to_numpy(layer(QUERY, VALUE, value_mask=MASK))
    with multi_head.portable.holding(True):
        layer(QUERY, VALUE, value_mask=MASK)
    monkeypatch.setattr(multi_head, "backend", lambda: "jax")
    monkeypatch.setattr(multi_head, "on_a_processor", lambda: False)
    received = ops.convert_to_numpy(layer(QUERY, VALUE, value_mask=MASK))
    assert seen == [((3, 1, 1, 7), None), ((3, 1, 1, 7), False), ((3, 1, 5, 7), None)]
    np.testing.assert_allclose(received, expected, atol=1e-6)


def test_causal_is_the_papers_equation():
    layer = made(VALUE)
    received = ops.convert_to_numpy(layer(VALUE, query_mask=MASK, causal=True))
    attend = transformer_oracles.multi_head(layer)
    for row, (_, length) in enumerate(ROWS):
        x = VALUE[row, :length]
        np.testing.assert_allclose(received[row, :length], attend(x, x, causal=True), atol=1e-5)
        assert not np.any(received[row, length:]), "outputs of masked queries are 0"


@pytest.mark.slow
@pytest.mark.parametrize("causal", [False, True])
def test_keras_own_layer_agrees(causal):
    ours, theirs = made(QUERY, VALUE), keras.layers.MultiHeadAttention(3, 5, output_shape=15)
    theirs(QUERY, VALUE)
    copied = zip(ours.get_weights(), theirs.weights, strict=True)  # both: query, key, value, output
    theirs.set_weights([value.reshape(weight.shape) for value, weight in copied])
    masks = {"attention_mask": MASK[:2, None, :], "use_causal_mask": causal}
    expected = ops.convert_to_numpy(theirs(QUERY[:2], VALUE[:2], **masks))
    received = ops.convert_to_numpy(ours(QUERY[:2], VALUE[:2], value_mask=MASK[:2], causal=causal))
    np.testing.assert_allclose(received, expected, atol=1e-5)


@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_a_mask_of_ones_and_zeros_is_one_of_true_and_false(dtype):
    """As tokenizers of other libraries give it, and as in Keras' own layers; with dropout and without."""
    layer, zeros_and_ones = made(QUERY, VALUE, dropout=0.1), MASK.astype(dtype)
    for training in (False, True):
        layer.dropout_layer.seed_generator.state.assign([1, 2])
        expected = ops.convert_to_numpy(layer(QUERY, VALUE, value_mask=MASK, training=training))
        layer.dropout_layer.seed_generator.state.assign([1, 2])
        received = ops.convert_to_numpy(layer(QUERY, VALUE, value_mask=zeros_and_ones, training=training))
        np.testing.assert_allclose(received, expected, atol=1e-6)


def test_weights_are_a_distribution_over_what_is_seen():
    layer = made(QUERY, VALUE)
    weights = ops.convert_to_numpy(layer.attention_weights(QUERY, VALUE, value_mask=MASK, causal=True))
    assert weights.shape == (3, 3, 5, 7)
    seen = MASK[:, None, None, :] & (np.arange(7) <= np.arange(5)[:, None])
    assert not np.any(weights[~np.broadcast_to(seen, weights.shape)])
    totals = np.broadcast_to(seen.any(axis=-1), weights.shape[:3])
    np.testing.assert_allclose(weights.sum(axis=-1), totals, atol=1e-6)


def test_a_query_that_sees_nothing_gives_the_bias():
    layer = made(QUERY, VALUE)
    for output in (layer(QUERY, VALUE, value_mask=MASK), layer(QUERY, value_mask=MASK, cache=layer.project(VALUE))[0]):
        received = ops.convert_to_numpy(output)[2]
        np.testing.assert_array_equal(received, np.broadcast_to(layer.output_projection.bias, (5, 15)))


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("causal", [False, True])
def test_the_ways_to_compute_agree(causal):
    """The fused kernel, the explicit form that dropout needs, and a cache."""
    layer = made(QUERY, VALUE)
    fused = ops.convert_to_numpy(layer(QUERY, VALUE, value_mask=MASK, causal=causal))
    cached, _ = layer(QUERY, value_mask=MASK, causal=causal, cache=layer.project(VALUE))
    np.testing.assert_allclose(ops.convert_to_numpy(cached), fused, atol=1e-6)
    explicit = MultiHeadAttention(15, 3, dropout=1e-9)
    explicit(QUERY, VALUE)
    explicit.set_weights([*layer.get_weights(), *explicit.get_weights()[8:]])
    explicit = explicit(QUERY, VALUE, value_mask=MASK, causal=causal, training=True)
    np.testing.assert_allclose(ops.convert_to_numpy(explicit), fused, atol=1e-5)


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("causal", [False, True])
def test_any_mask_at_all(causal):
    """Random masks, every share of them: each query is the paper's equation over what it sees, or the bias alone.

    By the fused kernel, by a cache, and by the explicit form that dropout takes in training.
    """
    generator = np.random.default_rng(8)
    x, values = generator.normal(size=(40, 6, 11)), generator.normal(size=(40, 7, 13))
    masks = generator.random((40, 7)) < np.linspace(0, 1, 40)[:, None]
    masks[0, :3] = False, True, True
    layer = made(QUERY, VALUE)
    attend, bias = transformer_oracles.multi_head(layer), ops.convert_to_numpy(layer.output_projection.bias)
    expected = np.broadcast_to(bias, (40, 6, 15)).copy()
    for row, position in np.ndindex(40, 6):
        seen = masks[row] & (np.arange(7) <= position) if causal else masks[row]
        if seen.any():
            expected[row, position] = attend(x[row, position : position + 1], values[row, seen])[0]
    given = {"value_mask": masks, "causal": causal}
    x, values = x.astype("float32"), values.astype("float32")
    fused, cached = layer(x, values, **given), layer(x, cache=layer.project(values), **given)[0]
    explicit = MultiHeadAttention(15, 3, dropout=1e-9)
    explicit(QUERY, VALUE)
    explicit.set_weights([*layer.get_weights(), *explicit.get_weights()[8:]])
    for received in (fused, cached, explicit(x, values, training=True, **given)):
        np.testing.assert_allclose(ops.convert_to_numpy(received), expected, atol=1e-5)


def test_dropout_is_on_the_weights_in_training_only():
    layer = made(QUERY, VALUE, dropout=0.5, seed=3)
    still = ops.convert_to_numpy(layer(QUERY, VALUE))
    np.testing.assert_array_equal(ops.convert_to_numpy(layer(QUERY, VALUE, training=False)), still)
    layer.query_projection.kernel.assign(np.zeros((11, 15)))  # every weight is 1/7
    layer.query_projection.bias.assign(np.zeros(15))
    layer.value_projection.kernel.assign(np.zeros((13, 15)))
    layer.value_projection.bias.assign(np.ones(15))
    layer.output_projection.kernel.assign(np.eye(15))
    layer.output_projection.bias.assign(np.zeros(15))
    kept = ops.convert_to_numpy(layer(QUERY, VALUE, training=True))  # of values 1: the sum of the weights kept, times 2
    assert kept.min() >= 0 and kept.max() <= 2 and abs(kept.mean() - 1) < 0.15 and kept.std() > 0.1


@pytest.mark.slow
@pytest.mark.parametrize("case", MULTI_HEAD, ids=lambda case: case.name)
def test_large_scores_stay_finite(case):
    built = laws.build(case)
    randomised(built.layer, 3, 30.0)
    assert all(np.all(np.isfinite(leaf)) for leaf in built.run())


@pytest.mark.parametrize(("units", "num_heads"), [(8, 3), (0, 1), (8, 0), (8, -2), (8.0, 2), (None, 2), (8, "2")])
def test_settings_are_checked(units, num_heads):
    with pytest.raises(ValueError, match=f"heads divide evenly.*units={units!r}, num_heads={num_heads!r}"):
        MultiHeadAttention(units, num_heads)
