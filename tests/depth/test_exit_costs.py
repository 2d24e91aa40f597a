"""What decides about exits and counts them: oracles, tuned thresholds and FLOPs; decisions are float32."""

from functools import partial
from itertools import pairwise

import keras
import numpy as np
import pytest
from keras import ops

from zoo.attention import MultiHeadAttention
from zoo.blocks import PreNorm
from zoo.check.laws import length_mask
from zoo.depth import GeometricExit, Halting, MultinomialExit, SequenceExit
from zoo.depth.exits import best_depth, sequence_oracle, token_oracle
from zoo.depth.flops import block_flops, decoder_flops, skipped_flops
from zoo.depth.thresholds import scored, tune
from zoo.feedforward import FeedForward


def test_oracles_against_sums():
    random = np.random.default_rng(4)
    scores, weights = random.normal(size=(3, 7, 4)), length_mask(((1, 7), (2, 4), (3, 0)), 7).astype("float32")
    depths = np.arange(1, 5)
    whole = ops.convert_to_numpy(sequence_oracle(scores, weights, 0.7)).argmax(-1)
    for row in range(3):
        total = sum(weights[row, t] * scores[row, t] for t in range(7)) - 0.7 * depths
        assert whole[row, 0] == np.argmax(total)
    for width in (0.0, 0.5, 8.0):
        received = ops.convert_to_numpy(token_oracle(scores, weights, 0.1, width))
        np.testing.assert_array_equal(received.sum(axis=-1), 1.0)
        for row in range(3):
            for t in range(7):
                smooth = np.zeros(4)
                for s in range(7):
                    kernel = float(s == t) if not width else np.exp(-((t - s) ** 2) / width)
                    smooth += kernel * weights[row, s] * scores[row, s]
                assert received[row, t].argmax() == np.argmax(smooth - 0.1 * depths)


def test_among_equals_the_oracle_takes_the_least_depth():
    right = np.array([[0.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0], [1.0, 0.0, 1.0, 1.0]])
    np.testing.assert_array_equal(ops.convert_to_numpy(best_depth(right, 0.0)).argmax(-1), [1, 0, 0])
    np.testing.assert_array_equal(ops.convert_to_numpy(best_depth(right, 1.0)).argmax(-1), [0, 0, 0])


def test_price_and_width_move_the_oracle():
    """A higher price is less depth; more neighbours, of whom some need depth, are more."""
    random = np.random.default_rng(4)
    right = np.sort(random.integers(0, 2, (5, 31, 4)), axis=-1).astype("float32")
    weights = np.ones((5, 31))

    def mean(price, width=0.0):
        return ops.convert_to_numpy(token_oracle(right, weights, price, width)).argmax(-1).mean()

    assert mean(0.01) > mean(0.4) > mean(1.1) == 0
    assert mean(0.4) < mean(0.4, 1.0) < mean(0.4, 8.0)


def test_thresholds_are_the_best_of_each_segment():
    random = np.random.default_rng(6)
    sureness = random.uniform(size=(200, 3))
    right = (random.uniform(size=(200, 3)) < [0.3, 0.6, 0.9]).astype(float)
    never, always = scored(sureness, right, [2.0, 2.0]), scored(sureness, right, [-1.0, -1.0])
    assert never == (pytest.approx(right[:, 2].mean()), 3.0) and always == (pytest.approx(right[:, 0].mean()), 1.0)
    tried = []

    def score(thresholds):
        tried.append((*scored(sureness, right, thresholds), list(thresholds)))
        return tried[-1][:2]

    found = tune(score, 3, draws=300, segments=5, seed=1)
    assert len(tried) == 300 and np.array([each[2] for each in tried]).shape == (300, 2)
    costs = [cost for _, cost, _ in tried]
    edges = np.linspace(min(costs), max(costs), 6)
    segments = [[t for t in tried if low <= t[1] < high or t[1] == high == edges[-1]] for low, high in pairwise(edges)]
    segments = [inside for inside in segments if inside]
    assert len(segments) > 2
    for inside, best in zip(segments, found, strict=True):
        assert best["quality"] == max(quality for quality, _, _ in inside)
        assert [best["quality"], best["cost"], best["thresholds"]] in [list(each) for each in inside]
    assert [each["cost"] for each in found] == sorted(each["cost"] for each in found)
    assert found == tune(partial(scored, sureness, right), 3, draws=300, segments=5, seed=1)


def test_flops_against_a_count_by_hand():
    """d = 2, f = 3, e = 5, |x| = 7, third token: every product of a block, two operations each."""
    d, f, e, source, t = 2, 3, 5, 7, 3
    matrices = (
        4 * d * d + 2 * d * d + 2 * d * f
    )  # W_Q, W_K, W_V, W_O; W_Q and W_O of the source's attention; the two of f
    attention = t * d + t * d + source * d + source * d  # scores and sums over t keys and over |x| keys
    assert block_flops(d, f, t, source, e) == 2 * (matrices + attention) == 152
    assert block_flops(d, f, t, source, e, first=True) == 152 + 2 * (2 * source * e * d)
    assert skipped_flops(d) == 2 * (2 * d * d) == 16
    # Three tokens that leave at 1, 3 and 2 of 3; with first tokens at 1, 2 and 2.
    runs = [(1, 1, True), (2, 1, False), (3, 1, False), (2, 2, True), (3, 2, False), (2, 3, True)]
    expected = sum(block_flops(d, f, token, source, e, first) for token, _, first in runs) + 3 * 16
    assert decoder_flops([1, 3, 2], 3, d, f, source, e) == expected


def test_flops_of_matrices_are_those_of_a_blocks_weights():
    """The part of FC that depends on no length, from the kernels of a real block."""
    block = PreNorm(MultiHeadAttention(6, 2), FeedForward(6, 10), MultiHeadAttention(6, 2))
    block.build((None, None, 6), (None, None, 6))
    kernels = [w for w in block.weights if w.path.endswith("kernel")]
    source_side = [block.cross_attention.key_projection.kernel, block.cross_attention.value_projection.kernel]
    count = sum(2 * int(np.prod(w.shape)) for w in kernels if not any(w is side for side in source_side))
    assert len(kernels) == 10 and block_flops(6, 10, 0, 0) == count


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16", "float32"])
@pytest.mark.parametrize(
    "make",
    [
        Halting,
        lambda **kw: GeometricExit(3, **kw),
        lambda **kw: MultinomialExit(3, **kw),
        lambda **kw: SequenceExit(3, **kw),
    ],
)
def test_decisions_are_float32(make, policy):
    layer = make(dtype=policy)
    symbol = layer(keras.Input((5, 4), dtype=layer.compute_dtype))
    value = layer(np.ones((2, 5, 4), "float32"))
    assert symbol.dtype == keras.backend.standardize_dtype(value.dtype) == "float32"
    assert symbol.shape[1:] == value.shape[1:]
