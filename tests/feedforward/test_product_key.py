"""Product-key memory: the same values as a search through all keys, the paper's equation, the mask, usage and KL."""

import keras
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import arrays
from keras import ops

from tests.weights import of_policy, randomised
from zoo.attention import MultiHeadAttention
from zoo.blocks import PreNorm
from zoo.check.laws import length_mask, sequences
from zoo.depth import ReversibleStack, Stack
from zoo.feedforward import ChunkedFeedForward, ProductKeyMemory
from zoo.feedforward.product_key import memory_usage, product_top_k

ROWS = ((1, 7), (2, 4), (3, 0))
X, MASK = sequences(ROWS, 7, 5), length_mask(ROWS, 7)


def made(seed=3, units=5, **changed):
    layer = ProductKeyMemory(units, **{"num_keys": 7, "num_heads": 2, "k": 3, "query_dim": 6, **changed})
    layer(X)
    return randomised(layer, seed, 0.7)


def brute_force(queries, keys, k):
    """The `k` best of all pairs of half-keys `(2, n, half)`, and their scores, best first."""
    half, n = queries.shape[-1] // 2, keys.shape[1]
    whole = np.stack([np.concatenate([keys[0, i], keys[1, j]]) for i in range(n) for j in range(n)])
    assert half == keys.shape[2]
    scores = queries @ whole.T
    best = np.argsort(-scores, axis=-1, kind="stable")[..., :k]
    return np.take_along_axis(scores, best, axis=-1), best


@pytest.mark.parametrize(("n", "k"), [(31, 8), (31, 32), (5, 25), (7, 1)])
def test_selection_is_that_of_brute_force_on_200_queries(n, k):
    """Also where a half-set has fewer keys than are wanted, up to all of the memory."""
    generator = np.random.default_rng(n)
    queries, keys = generator.normal(size=(200, 10)), generator.normal(size=(2, n, 5))
    halves = (ops.convert_to_tensor(queries[:, 5 * side :][:, :5] @ keys[side].T) for side in range(2))
    scores, indices = map(ops.convert_to_numpy, product_top_k(*halves, k))
    expected, best = brute_force(queries, keys, k)
    np.testing.assert_array_equal(np.sort(indices), np.sort(best))
    np.testing.assert_allclose(scores, expected, atol=1e-9)


VALUES = st.integers(-4, 4).map(float)  # small numbers, so that sums are exact and many are equal


@pytest.mark.slow
@settings(max_examples=100, derandomize=True, database=None)
@given(arrays("float32", (2, 3, 6), elements=VALUES), st.integers(1, 36))
def test_selection_is_the_best_with_ties_too(halves, k):
    """Of equal sums any may be taken: their scores are the best there are, and no value comes twice."""
    scores, indices = map(ops.convert_to_numpy, product_top_k(*map(ops.convert_to_tensor, halves), k))
    sums = (halves[0][:, :, None] + halves[1][:, None, :]).reshape(3, 36)
    np.testing.assert_array_equal(scores, -np.sort(-sums, axis=-1)[:, :k])
    np.testing.assert_array_equal(np.take_along_axis(sums, indices, axis=-1), scores)
    assert all(len(set(row)) == k for row in indices.tolist())


def by_hand(layer, x):
    """`(time, units)` of one row `x (time, units)`, from the paper's equations, a position and a head at a time."""
    kernel, bias = (ops.convert_to_numpy(each) for each in layer.query_projection.weights)
    q = (x @ kernel + bias).astype("float64")
    if layer.query_norm == "batch":
        gamma, beta, mean, variance = (ops.convert_to_numpy(each) for each in layer.norm.weights)
        q = (q - mean) / np.sqrt(variance + 1e-5) * gamma + beta
    q = q.reshape(len(x), layer.num_heads, layer.query_dim)
    if layer.query_norm == "layer":
        gamma, beta = (ops.convert_to_numpy(each) for each in layer.norm.weights)
        q = (q - q.mean(-1, keepdims=True)) / np.sqrt(q.var(-1, keepdims=True) + 1e-5) * gamma + beta
    keys, values = ops.convert_to_numpy(layer.keys), ops.convert_to_numpy(layer.values)
    outputs = np.zeros((len(x), layer.units))
    for t in range(len(x)):
        for h in range(layer.num_heads):
            scores, best = brute_force(q[t, h], keys[:, h], layer.k)
            weights = np.exp(scores - scores.max())
            outputs[t] += weights / weights.sum() @ values[best]
    return outputs


@pytest.mark.parametrize("query_norm", ["batch", "layer", None])
def test_is_the_papers_equation(query_norm):
    layer = made(query_norm=query_norm, units=11)
    if query_norm == "batch":
        layer.norm.moving_mean.assign(np.linspace(-1, 1, 12))
        layer.norm.moving_variance.assign(np.linspace(0.5, 2, 12))
    received = ops.convert_to_numpy(layer(X))
    for row in range(3):
        np.testing.assert_allclose(received[row], by_hand(layer, X[row]), atol=2e-5)


def test_statistics_of_the_batch_norm_are_those_of_what_is_kept():
    """Whatever stands in the padding, in training and for the moving averages."""
    found = []
    for noise in (0, 9):
        layer = made()
        x = sequences(ROWS, 7, 5, noise)
        found.append((ops.convert_to_numpy(layer(x, mask=MASK, training=True)), layer.norm))
    np.testing.assert_allclose(found[0][0][MASK], found[1][0][MASK], atol=1e-5)
    kernel, bias = (ops.convert_to_numpy(each) for each in layer.query_projection.weights)
    q = (X @ kernel + bias)[MASK]
    for _, norm in found:
        np.testing.assert_allclose(ops.convert_to_numpy(norm.moving_mean), 0.1 * q.mean(0), atol=1e-5)
        np.testing.assert_allclose(ops.convert_to_numpy(norm.moving_variance), 0.9 + 0.1 * q.var(0), atol=1e-5)


def test_blocks_give_the_mask():
    found = []
    for noise in (0, 9):
        block = PreNorm(MultiHeadAttention(5, 1, seed=1), made())
        block.build((None, None, 5))
        for weight in block.trainable_weights:
            weight.assign(np.random.default_rng(4).normal(0.0, 0.5, weight.shape))
        found.append(ops.convert_to_numpy(block(sequences(ROWS, 7, 5, noise), mask=MASK, training=True)))
    np.testing.assert_allclose(found[0][MASK], found[1][MASK], atol=1e-5)


def test_a_reversible_stack_takes_layer_norm_and_refuses_batch_norm():
    def stack(query_norm):
        memory = ProductKeyMemory(6, 4, 2, 3, 6, query_norm)
        reversible = ReversibleStack([PreNorm(MultiHeadAttention(6, 2), memory)])
        reversible.build((None, None, 6))
        return reversible

    x = sequences(ROWS, 7, 6)
    assert np.all(np.isfinite(ops.convert_to_numpy(stack("layer")(x, training=True))))
    with pytest.raises(ValueError, match="must not change variables"):
        stack("batch")(x, training=True)


@pytest.mark.slow
def test_memories_stand_in_any_stack_and_steps_are_the_full_pass():
    stack = Stack([PreNorm(MultiHeadAttention(6, 2), ProductKeyMemory(6, 4, 2, 3, 6)) for _ in range(2)])
    x = sequences(ROWS[:2], 7, 6)
    expected = ops.convert_to_numpy(stack(x, causal=True))
    state = stack.start(2)
    for position in range(7):
        output, state = stack.step(x[:, position : position + 1], state)
        np.testing.assert_allclose(ops.convert_to_numpy(output)[:, 0], expected[:, position], atol=1e-4)


def test_value_weights_count_what_is_read():
    layer = made()
    indices, weights = map(ops.convert_to_numpy, layer.select(X))
    expected = np.zeros(49)
    np.add.at(expected, indices[MASK].ravel(), weights[MASK].ravel())
    received = ops.convert_to_numpy(layer.value_weights(X, MASK))
    np.testing.assert_allclose(received, expected, atol=1e-5)
    np.testing.assert_allclose(received.sum(), MASK.sum() * 2, atol=1e-4)


@pytest.mark.parametrize(
    ("weights", "usage", "kl"),
    [
        ([1, 1, 1, 1], 1.0, 0.0),
        ([0, 7, 0, 0], 0.25, np.log(4)),
        ([3, 1, 0, 0], 0.5, np.log(4) + 0.75 * np.log(0.75) + 0.25 * np.log(0.25)),
    ],
)
def test_usage_and_kl(weights, usage, kl):
    found = memory_usage(np.array(weights, "float32"))
    assert found["usage"] == usage
    np.testing.assert_allclose(found["kl"], kl, atol=1e-6)


@pytest.mark.slow
def test_batch_norm_removes_what_all_inputs_share():
    """A common offset sends all queries to the same keys; the paper's cure is to normalise them."""
    generator = np.random.default_rng(1)
    x = (generator.normal(size=(2, 500, 32)) + 3 * generator.normal(size=32)).astype("float32")
    found = {}
    for query_norm in (None, "batch"):
        layer = ProductKeyMemory(32, 32, 4, 8, 16, query_norm, seed=1)
        for _ in range(40 if query_norm else 1):
            layer(x, training=True)
        found[query_norm] = memory_usage(layer.value_weights(x))
    assert found["batch"]["usage"] > found[None]["usage"] + 0.1
    assert found["batch"]["kl"] < found[None]["kl"] / 3


def test_initial_values_are_the_papers():
    layer = ProductKeyMemory(64, 32, 2, 4, 32, seed=1)
    layer.build((None, None, 64))
    keys, values = ops.convert_to_numpy(layer.keys), ops.convert_to_numpy(layer.values)
    assert 0.2 < np.abs(keys).max() <= 1 / 4 and values.shape == (1024, 64)
    np.testing.assert_allclose(values.std(), 1 / 8, rtol=0.02)
    dense = 64 * 64 + 64  # units -> num_heads * query_dim
    assert layer.count_params() == dense + 4 * 64 + 2 * 2 * 32 * 16 + 1024 * 64


def test_mixed_precision_selects_in_float32_and_casts_no_table():
    with of_policy("mixed_bfloat16"):
        layer = made()
    assert layer(X).dtype == "bfloat16"
    assert layer.values.dtype == "float32"
    assert layer.select(X)[1].dtype == "float32"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"units": 0}, "units=0"),
        ({"num_keys": 2.0}, "num_keys=2.0"),
        ({"query_dim": 7}, "even query_dim.*query_dim=7"),
        ({"num_keys": 3, "k": 10}, r"at most num_keys\^2.*k=10"),
        ({"query_norm": "group"}, r"expected one of \('batch', 'layer', None\), received 'group'"),
    ],
)
def test_settings_are_checked(changed, message):
    with pytest.raises(ValueError, match=message):
        made(**changed)


@pytest.mark.parametrize("wrap", [lambda memory: memory, lambda memory: ChunkedFeedForward(memory, 1)])
def test_padding_stays_out_of_the_statistics_however_the_mask_comes(wrap):
    """Explicit or attached to the input by Keras, alone or in one chunk: the batch norm sees what is valid alone."""
    x = np.random.default_rng(0).normal(size=(2, 5, 6)).astype("float32")
    mask = np.arange(5) < np.array([[5], [3]])
    x[~mask] = 0.0
    means = []
    for form in ("explicit", "implicit", "alone"):
        memory = ProductKeyMemory(6, num_keys=5, num_heads=2, k=3, query_dim=4, seed=1)
        memory.build((None, None, 6))
        memory.query_projection.kernel.assign(np.random.default_rng(1).normal(size=(6, 8)))
        memory.query_projection.bias.assign(np.full(8, 3.0))  # so that padding has a mean of its own
        layer = wrap(memory)
        if form == "explicit":
            layer(x, mask=mask, training=True)
        elif form == "implicit":
            layer(keras.layers.Masking()(x), training=True)
        else:
            layer(x[mask][None], training=True)
        means.append(ops.convert_to_numpy(memory.norm.moving_mean))
    np.testing.assert_allclose(means[0], means[2], atol=1e-6)
    np.testing.assert_allclose(means[1], means[2], atol=1e-6)
