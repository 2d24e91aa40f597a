"""Multi-linear attention: the paper's tensor by entries, its collapse, what leaks without the mask, parameters."""

import numpy as np
import pytest
from keras import ops

from tests.oracles import softmax
from tests.weights import randomised
from zoo.attention import MultiHeadAttention, MultiLinearAttention
from zoo.attention.tensorized import multi_linear
from zoo.check.laws import length_mask, sequences

ROWS = ((1, 7), (2, 4), (3, 0))
X, MASK = sequences(ROWS, 7, 6), length_mask(ROWS, 7)
MODES = "split_concat", "reconstruct"


def made(max_time=11, **settings):
    layer = MultiLinearAttention(5, 3, max_time, **settings)
    layer.build((None, None, 6))
    return randomised(layer, 3, 0.7)


def by_hand(layer, x, causal):
    """`(time, units)` of one row: equations 5 to 8, an entry of the tensor at a time."""
    query, key, value = (
        x @ ops.convert_to_numpy(getattr(layer, f"{name}_projection").kernel).astype("float64")
        for name in ("query", "key", "value")
    )
    cores, output = ops.convert_to_numpy(layer.cores), ops.convert_to_numpy(layer.output_weights)
    outputs = np.zeros((len(x), layer.units))
    for i in range(len(x)):
        for j in range(len(x)):
            for m in range(len(x)):
                if causal and max(j, m) > i:
                    continue
                heads = [sum(softmax(w) * query[i] * key[j] * value[m]) for w in cores]
                row = output[m] if layer.mode == "reconstruct" else output[j, m]
                outputs[i] += np.mean(heads) * row
    return outputs


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("mode", MODES)
def test_is_the_papers_equation(mode, causal):
    layer = made(mode=mode, num_cores=3)
    received = ops.convert_to_numpy(layer(X, value_mask=MASK, causal=causal))
    for row, (_, length) in enumerate(ROWS):
        np.testing.assert_allclose(received[row, :length], by_hand(layer, X[row, :length], causal), atol=2e-5)


def test_cores_collapse_to_one():
    """The mean of four cores' tensors is the tensor of their mean core, to 1e-12; so is Corollary 1 a sum of keys."""
    generator = np.random.default_rng(1)
    cores = np.array([softmax(row) for row in generator.normal(size=(4, 5))])
    q, k, v = (generator.normal(size=(2, 9, 5)) for _ in range(3))
    tensors = [ops.convert_to_numpy(multi_linear(*map(ops.convert_to_tensor, (core, q, k, v)))) for core in cores]
    one = ops.convert_to_numpy(multi_linear(*map(ops.convert_to_tensor, (cores.mean(axis=0), q, k, v))))
    assert one.dtype == "float64"
    np.testing.assert_allclose(np.mean(tensors, axis=0), one, atol=1e-12, rtol=0)
    sums = (q * cores.mean(axis=0) * k.sum(axis=1, keepdims=True)) @ np.swapaxes(v, 1, 2)
    np.testing.assert_allclose(one.sum(axis=2), sums, atol=1e-12, rtol=0)


def leak(causal, mode):
    """How far outputs before position 5 move if the last three positions change."""
    layer, x = made(mode=mode), X[:1]
    other = x.copy()
    other[:, 4:] = np.random.default_rng(9).normal(size=(1, 3, 6))
    before = [ops.convert_to_numpy(layer(each, causal=causal))[:, :4] for each in (x, other)]
    return np.abs(before[0] - before[1]).max()


@pytest.mark.parametrize("mode", MODES)
def test_later_positions_leak_without_the_mask_and_not_with_it(mode):
    assert leak(False, mode) > 0.1
    assert leak(True, mode) == 0


@pytest.mark.parametrize(
    ("units", "rank", "cores", "time", "expected"),
    [(256, 40, 1, 32, 30_760), (256, 40, 2, 30, 30_800), (512, 100, 2, 100, 153_800)],
)
def test_parameters_are_the_papers(units, rank, cores, time, expected):
    """`3 d R + h R`, which leaves out `W_O`, `N^2 d`: of the last size it alone is 33 times all the rest."""
    layer = MultiLinearAttention(units, rank, time, cores)
    layer.build((None, None, units))
    assert layer.attention_parameters == 3 * units * rank + cores * rank == expected
    assert layer.count_params() == expected + time**2 * units
    heads = MultiHeadAttention(units, 8, use_bias=False)
    heads.build((None, None, units))
    assert heads.count_params() - units**2 == 3 * units**2


def test_a_memory_may_be_projected_before_the_first_pass():
    layer = MultiLinearAttention(6, rank=3, max_time=7)
    cache = layer.project(X)
    received, _ = layer(X, cache=cache, causal=True)
    np.testing.assert_array_equal(received, layer(X, causal=True))
    assert len(layer.weights) == 5


def test_long_sequences_and_a_value_are_refused():
    with pytest.raises(ValueError, match="output weights for 5 positions, received 7"):
        made(max_time=5)(X)
    with pytest.raises(ValueError, match="expected value=None"):
        made()(X, X)


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"rank": 0}, "rank=0"), ({"max_time": 2.5}, "max_time=2.5"), ({"mode": "sum"}, "expected one of.*'sum'")],
)
def test_settings_are_checked(settings, message):
    with pytest.raises(ValueError, match=message):
        MultiLinearAttention(**{"units": 6, "rank": 3, "max_time": 7, **settings})
