"""Adaptive span: the paper's sum written out, trimming, penalty and constraint, steps over a cache that stays short."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from tests.weights import randomised
from zoo.attention import AdaptiveSpanAttention, MultiHeadAttention
from zoo.attention.adaptive_span import slant, soft_span, straighten
from zoo.blocks import PreNorm
from zoo.check.laws import length_mask, sequences
from zoo.check.steps import check_steps
from zoo.depth import Stack
from zoo.feedforward import FeedForward
from zoo.models import LanguageModel

ROWS = ((1, 13), (2, 6), (3, 0))
X, MASK = sequences(ROWS, 13, 6), length_mask(ROWS, 13)
SPAN, RAMP = 8, 3


def made(fractions=(0.1, 0.6), **settings):
    layer = AdaptiveSpanAttention(6, 2, **{"max_span": SPAN, "ramp": RAMP, **settings})
    layer.build((None, None, 6))
    randomised(layer, 3, 0.7)
    if not layer.dynamic:
        layer.fractions.assign(fractions)
    return layer


def by_hand(layer, x):
    """`(time, units)` of one row, from the paper's equations: a head, a position and a key at a time, in float64."""
    names = ("query", "key", "value", "output")
    query, key, value, output = (
        ops.convert_to_numpy(getattr(layer, f"{name}_projection").kernel).astype("float64") for name in names
    )
    p, d = ops.convert_to_numpy(layer.positions), layer.head_dim
    mixed = np.zeros((len(x), layer.units))
    for h in range(layer.num_heads):
        columns = slice(h * d, h * d + d)
        q, k, v = x @ query[:, columns], x @ key[:, columns], x @ value[:, columns]
        for t in range(len(x)):
            if layer.dynamic:
                kernel, bias = (ops.convert_to_numpy(each) for each in layer.gate.weights)
                z = layer.max_span / (1 + np.exp(-(x[t] @ kernel[:, h] + bias[h])))
            else:
                z = layer.max_span * ops.convert_to_numpy(layer.fractions)[h]
            before = range(max(0, t - layer.max_span), t)
            m = [min(max((layer.ramp + z - (t - r)) / layer.ramp, 0), 1) for r in before]
            e = [w * np.exp(q[t] @ (k[r] + p[t - r - 1]) / np.sqrt(d)) for w, r in zip(m, before, strict=True)]
            if sum(e) > 0:
                mixed[t, columns] = sum(w * v[r] for w, r in zip(e, before, strict=True)) / sum(e)
    return mixed @ output


@pytest.mark.parametrize("settings", [{}, {"dynamic": True}, {"max_span": 32, "ramp": 9}, {"max_span": 1, "ramp": 2}])
def test_is_the_papers_equation(settings):
    layer = made(**settings)
    received = ops.convert_to_numpy(layer(X, value_mask=MASK, causal=True))
    for row, (_, length) in enumerate(ROWS):
        np.testing.assert_allclose(received[row, :length], by_hand(layer, X[row, :length]), atol=1e-5)
    assert np.all(received[:, 0] == 0), "the first position has nothing before it"


@pytest.mark.parametrize("fractions", [(0, 0), (0.1, 0.6), (1, 0), (0.2, 0.374)])
def test_trimmed_is_untrimmed(fractions):
    layer = made(fractions)
    expected = ops.convert_to_numpy(layer(X, causal=True))
    window = layer.trim()
    assert window == min(SPAN, np.ceil(np.float32(max(fractions)) * SPAN + RAMP) - 1)
    np.testing.assert_allclose(ops.convert_to_numpy(layer(X, causal=True)), expected, atol=1e-6)
    if window > 1:
        layer.window = window - 1
        assert np.abs(ops.convert_to_numpy(layer(X, causal=True)) - expected).max() > 1e-6, "trim could trim more"


def test_trimming_reads_no_further():
    """A NaN right behind the window is never seen, and one inside it is."""
    layer = made((0, 0))
    layer.trim()
    assert layer.window == RAMP - 1
    for distance, seen in ((RAMP - 1, True), (2 * RAMP, False)):
        x = X[:1].copy()
        x[0, 12 - distance] = np.nan
        assert np.isnan(ops.convert_to_numpy(layer(x, causal=True))[0, 12]).any() == seen


def test_trim_rounds_up_and_leaves_room():
    layer = made((0.0, 0.1), max_span=64)
    assert layer.reach == 9  # 6.4 + 3 = 9.4
    assert [layer.trim(), layer.trim(16), layer.trim(4, slack=4), layer.trim(100)] == [9, 16, 16, 64]
    copy = AdaptiveSpanAttention.from_config({**layer.get_config(), "window": 16})
    assert copy.window == 16
    assert made(dynamic=True, max_span=64).trim() == 64


def test_spans_start_where_they_should():
    layer = AdaptiveSpanAttention(6, 2, max_span=64, ramp=8, initial_span=48)
    layer.build((None, None, 6))
    np.testing.assert_allclose(ops.convert_to_numpy(layer.spans()), 48, rtol=1e-6)
    assert layer.reach == 55


def test_bands():
    strip = np.arange(2 * 4 * 8).reshape(2, 4, 8).astype("float32")
    band = ops.convert_to_numpy(straighten(strip))
    back = ops.convert_to_numpy(slant(band))
    for i in range(4):
        for y in range(4):
            np.testing.assert_array_equal(band[:, i, y], strip[:, i, i + y])
        expected = np.zeros((2, 8))
        expected[:, i : i + 4] = band[:, i]
        np.testing.assert_array_equal(back[:, i], expected)


def test_the_masks_end_has_a_gradient_that_is_finite():
    scores, span = tf.constant([[1.0, 2.0, 300.0]]), tf.constant([[1.0, 1e-7, 0.0]])
    with tf.GradientTape() as tape:
        tape.watch([scores, span])
        weights = soft_span(scores, span)[0, 1]
    assert all(np.all(np.isfinite(each)) for each in tape.gradient(weights, [scores, span]))
    np.testing.assert_array_equal(ops.convert_to_numpy(soft_span(scores, 0 * span)), 0)


def test_no_position_sees_itself_or_later_ones_through_keys():
    layer = made((0.5, 1.0))
    with tf.GradientTape(persistent=True) as tape:
        x = tf.constant(X[:1])
        tape.watch(x)
        outputs = tf.unstack(tf.reduce_sum(layer(x, causal=True) ** 2, axis=(0, 2)))
    for position, output in enumerate(outputs):
        gradient = np.abs(tape.gradient(output, x).numpy()).sum(axis=(0, 2))
        assert not np.any(gradient[position + 1 :])
        assert not np.any(gradient[: max(0, position - SPAN)])
        assert position < 2 or gradient[position] > 1e-4 * gradient.max()  # as a query


@pytest.mark.parametrize("dynamic", [False, True])
def test_penalty_is_the_mean_span_of_the_positions_that_count(dynamic):
    layer = made(dynamic=dynamic, penalty=0.01)
    layer(X, value_mask=MASK, causal=True)
    assert not layer.losses, "there is no penalty where nothing is trained"
    layer(X, value_mask=MASK, causal=True, training=True)
    spans = ops.convert_to_numpy(layer.spans(X))
    expected = 0.01 * (spans[MASK].mean() if dynamic else spans.mean())
    np.testing.assert_allclose(ops.convert_to_numpy(layer.losses[0]), expected, rtol=1e-5)


def test_spans_stay_in_their_bounds():
    layer = made((0.001, 0.999))
    optimizer = keras.optimizers.SGD(1.0)
    optimizer.build(layer.trainable_weights)
    gradients = [np.zeros(w.shape, "float32") for w in layer.trainable_weights]
    index = [w.name for w in layer.trainable_weights].index("fractions")
    gradients[index] = np.array([5.0, -5.0], "float32")
    optimizer.apply([ops.convert_to_tensor(each) for each in gradients], layer.trainable_weights)
    np.testing.assert_array_equal(ops.convert_to_numpy(layer.spans()), [0, SPAN])


def language_model(dynamic=False, window=None):
    blocks = [PreNorm(made(dynamic=dynamic), FeedForward(6, 8)), PreNorm(MultiHeadAttention(6, 2), FeedForward(6, 8))]
    model = LanguageModel(11, Stack(blocks))
    randomised(model, 3, but=("fractions",))
    if window != "all":
        blocks[0].attention.trim()
    return model


PROMPTS, LENGTHS = np.random.default_rng(5).integers(4, 11, (3, 11)).astype("int32"), np.array([11, 3, 1], "int32")


@pytest.mark.slow
@pytest.mark.release(but=1)
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("max_length", [None, 12])
def test_steps_are_the_full_pass(dynamic, max_length):
    """Of three beams that change parents, behind prompts of unequal lengths, further than the window reaches."""
    random = np.random.default_rng(7)
    following, parents = random.integers(4, 11, (3, 3, 11)).astype("int32"), random.integers(0, 3, (3, 3, 11))
    check_steps(language_model(dynamic), PROMPTS, LENGTHS, following, parents.astype("int32"), max_length)


@pytest.mark.slow
def test_a_growing_cache_stays_as_short_as_the_window():
    model = language_model()
    memory = model.encode(PROMPTS, LENGTHS)
    token_ids, state = model.start(memory, beams=2)
    sizes = []
    for _ in range(10):
        _, state = model.step(token_ids, state, memory)
        sizes.append([cache["keys"].shape[2] for cache in state["caches"]])
    window = model.decoder.blocks[0].attention.window
    assert window < SPAN
    assert sizes[-1] == [2 * (window + 1), 11 + 2 * 10]


def test_a_value_and_both_directions_are_refused():
    with pytest.raises(ValueError, match="expected value=None and causal=True, received a value"):
        made()(X, X, causal=True)
    with pytest.raises(ValueError, match="received causal=False"):
        made()(X)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"units": 7}, "heads divide evenly.*units=7"),
        ({"max_span": 0}, "max_span=0"),
        ({"ramp": 1}, "ramp of at least 2.*ramp=1"),
        ({"window": 9, "max_span": 8}, "window of 1 to max_span.*window=9"),
        ({"window": 2.5, "max_span": 8}, "window of 1 to max_span.*window=2.5"),
        ({"penalty": -1.0}, "penalty=-1.0"),
        ({"penalty": float("nan")}, "penalty=nan"),
        ({"initial_span": 9, "max_span": 8}, "initial_span=9, max_span=8"),
        ({"initial_span": 1, "dynamic": True}, "dynamic=True"),
    ],
)
def test_settings_are_checked(settings, message):
    with pytest.raises(ValueError, match=message):
        AdaptiveSpanAttention(**{"units": 6, "num_heads": 2, **settings})


@pytest.mark.slow
@pytest.mark.release(but=1)
@pytest.mark.parametrize("dynamic", [False, True])
def test_an_empty_sequence_has_an_empty_output(dynamic):
    """The prompt before the first token of a text is one; in a graph its length is not known."""
    layer = made(dynamic=dynamic)
    look = tf.function(
        lambda x: layer(x, causal=True), input_signature=[tf.TensorSpec((None, None, 6))], autograph=False
    )
    for apply in (look, lambda x: layer(x, causal=True)):
        assert tuple(apply(X[:, :0]).shape) == (3, 0, 6)
    np.testing.assert_allclose(look(X), layer(X, causal=True), atol=1e-6)
