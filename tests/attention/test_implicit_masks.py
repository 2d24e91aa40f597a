"""Keras' implicit masks in the hands of a Keras user: `Embedding(mask_zero=True)`, functional models and `fit`."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from zoo.attention import (
    SSRU,
    AdaptiveSpanAttention,
    AdditiveAttention,
    DotProductAttention,
    LSHAttention,
    MultiHeadAttention,
    MultiLinearAttention,
)
from zoo.depth import make_reformer_stack, make_stack, make_star_stack, make_universal_stack

IDS = np.array([[3, 4, 5, 0, 0], [1, 2, 3, 4, 5], [6, 0, 0, 0, 0]], "int32")
MASK = IDS != 0
LAYERS = {
    "additive": (lambda: AdditiveAttention(6), {}),
    "dot": (lambda: DotProductAttention(6), {}),
    "multi-head": (lambda: MultiHeadAttention(6, 2), {}),
    "lsh": (lambda: LSHAttention(6, 2, num_buckets=2, chunk_length=2, seed=1), {}),
    "multi-linear": (lambda: MultiLinearAttention(6, 4, max_time=9), {}),
    "lsh-causal": (lambda: LSHAttention(6, 2, num_buckets=2, chunk_length=2, seed=1), {"causal": True}),
    "ssru": (lambda: SSRU(6), {"causal": True}),
    "span": (lambda: AdaptiveSpanAttention(6, 2, max_span=8, ramp=2), {"causal": True}),
    "stack": (lambda: make_stack(2, 6, 2, 8, dropout=0.0), {}),
    "reformer": (lambda: make_reformer_stack(2, 6, 2, 8, {"chunk_length": 2}, seed=1, dropout=0.0), {}),
    "universal": (lambda: make_universal_stack(2, 6, 2, 8, dropout=0.0), {}),
    "star": (lambda: make_star_stack(2, 6, 2, summary=False), {}),
}


def padded(array, time):
    return np.pad(array, ((0, 0), (0, time - array.shape[1])))


def embedding():
    """Of which every vector is large, so that padding would be noticed."""
    layer = keras.layers.Embedding(9, 6, mask_zero=True)
    layer.build()
    layer.set_weights([np.random.default_rng(1).normal(0.0, 2.0, (9, 6))])
    return layer


def without_mask(x):
    return ops.convert_to_tensor(ops.convert_to_numpy(x))


def classifier(make, settings):
    keras.utils.set_random_seed(3)
    ids = keras.Input((None,), dtype="int32")
    states = make()(embedding()(ids), **settings)
    return keras.Model(ids, keras.layers.Dense(3)(keras.layers.GlobalAveragePooling1D()(states)))


DEAR = set(LAYERS) - {"multi-head", "stack"}


@pytest.mark.slow
@pytest.mark.release(but=1)
@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow if n in DEAR else ()) for n in LAYERS])
def test_padding_changes_neither_answers_nor_training(name):
    """A functional model of Keras' layers and one of ours, answering and after a step of `fit`, by padding alone."""
    make, settings = LAYERS[name]
    answers, weights = [], []
    for time in (5, 8):
        model = classifier(make, settings)
        answers.append(model(padded(IDS, time)).numpy())
        model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True), jit_compile=False)
        model.fit(padded(IDS, time), np.array([0, 1, 2]), batch_size=3, verbose=0)
        weights.append(model.get_weights())
    np.testing.assert_allclose(*answers, atol=1e-5)
    alone = classifier(make, settings)(IDS[:1, :3]).numpy()
    np.testing.assert_allclose(answers[0][:1], alone, atol=1e-5)
    for one, other in zip(*weights, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


@pytest.mark.parametrize("name", ["additive", "dot", "multi-head", "lsh", "multi-linear"])
def test_every_way_to_say_it(name):
    layer, x = LAYERS[name][0](), embedding()(IDS)
    bare = without_mask(x)
    expected = ops.convert_to_numpy(layer(bare, query_mask=MASK))
    silent = ops.convert_to_numpy(layer(bare))
    assert np.abs(silent - expected)[MASK].max() > 1e-3, "padding would matter"
    ways = [layer(x), layer(x, None), layer(bare, mask=MASK), layer(x, mask=MASK), layer(x, query_mask=MASK)]
    for received in ways:
        np.testing.assert_allclose(ops.convert_to_numpy(received), expected, atol=1e-6)
    np.testing.assert_array_equal(ways[0]._keras_mask, MASK)
    other = MASK & (np.arange(5) < 2)  # what is said comes before what is implied
    explicit = ops.convert_to_numpy(layer(bare, query_mask=other))
    for received in (layer(x, mask=other), layer(x, query_mask=other)):
        np.testing.assert_allclose(ops.convert_to_numpy(received), explicit, atol=1e-6)


@pytest.mark.parametrize("mask", [(0, 0, 1, 1, 1), (1, 0, 1, 0, 1), (0, 0, 0, 0, 0)])
@pytest.mark.parametrize("name", ["additive", "dot", "multi-head"])
def test_padding_may_stand_anywhere(name, mask):
    """In front, as `pad_sequences` puts it, or between: what is kept gives what it gives alone."""
    layer, ids = LAYERS[name][0](), np.where(mask, [[4, 5, 6, 7, 8]], 0)
    embed = embedding()
    received, kept = ops.convert_to_numpy(layer(embed(ids)))[0], np.array(mask, bool)
    if kept.any():
        alone = ops.convert_to_numpy(layer(without_mask(embed(ids[:, kept]))))[0]
        np.testing.assert_allclose(received[kept], alone, atol=1e-6)
    assert not received[~kept].any()


@pytest.mark.parametrize("name", ["additive", "dot", "multi-head"])
def test_a_query_and_a_value(name):
    layer, embed = LAYERS[name][0](), embedding()
    query, value = embed(IDS), embed(padded(IDS[::-1], 7))
    masks = {"query_mask": MASK, "value_mask": padded(IDS[::-1], 7) != 0}
    expected = layer(without_mask(query), without_mask(value), **masks)
    np.testing.assert_allclose(layer(query, value), expected, atol=1e-6)


@pytest.mark.slow
@pytest.mark.release(but=2)
@pytest.mark.parametrize("make", [make_stack, make_reformer_stack, make_universal_stack])
def test_a_stack_beside_a_memory(make):
    """Two tensors, of which Keras hands over the masks by names of their own; not causal, so that padding matters."""
    stack, embed = make(2, 6, 2, 8, cross=True), embedding()
    x, memory = embed(IDS), embed(padded(IDS[::-1], 7))
    masks = {"mask": MASK, "memory_mask": padded(IDS[::-1], 7) != 0}
    bare, bare_memory = without_mask(x), without_mask(memory)
    expected = ops.convert_to_numpy(stack(bare, memory=bare_memory, **masks))[MASK]
    unmasked = ops.convert_to_numpy(stack(bare, memory=bare_memory, memory_mask=masks["memory_mask"]))[MASK]
    assert np.abs(unmasked - expected).max() > 1e-3
    ids = [keras.Input((None,), dtype="int32") for _ in range(2)]
    model = keras.Model(ids, stack(embed(ids[0]), memory=embed(ids[1])))
    for received in (stack(x, memory=memory), stack(x, None, memory), model([IDS, padded(IDS[::-1], 7)])):
        np.testing.assert_allclose(ops.convert_to_numpy(received)[MASK], expected, atol=1e-5)


@pytest.mark.slow(but="multi-head")
@pytest.mark.release(but=("additive", "dot", "multi-head"))
@pytest.mark.parametrize("name", ["additive", "dot", "multi-head", "multi-head-dropout", "lsh", "span", "multi-linear"])
def test_nothing_later_and_nothing_masked_has_a_gradient(name):
    """Causal attention under masks that begin with padding: queries that see nothing are moved by nothing."""
    layer = MultiHeadAttention(6, 2, dropout=0.5, seed=1) if name.endswith("dropout") else LAYERS[name][0]()
    x = ops.convert_to_tensor(np.random.default_rng(2).normal(size=(1, 6, 6)).astype("float32"))
    for mask in ((0, 1, 1, 1, 1, 1), (0, 0, 1, 0, 1, 0), (1, 0, 0, 1, 1, 0), (0, 0, 0, 0, 0, 0)):
        kept = np.array([mask], bool)
        for position in range(6):
            with tf.GradientTape() as tape:
                tape.watch(x)
                output = layer(x, value_mask=kept, causal=True, training=True)[:, position]
                loss = tf.reduce_sum(output**2)
            gradient = tape.gradient(loss, x, unconnected_gradients="zero").numpy()[0]
            later = np.arange(6) > position
            others = ~kept[0] & (np.arange(6) != position)  # its own place is the query's
            assert np.all(np.isfinite(gradient)) and not np.any(gradient[later | others])
            if not any(mask[: position + 1]):
                assert not np.any(gradient), "its output is a constant"


def test_lsh_over_a_cache_sees_no_masked_position():
    layer = LAYERS["lsh"][0]()
    x = np.random.default_rng(2).normal(size=(1, 4, 6)).astype("float32")
    mask = np.array([[0, 0, 1, 1]], bool)
    layer(x)
    output, _ = layer(x, value_mask=mask, causal=True, cache=layer.project(x))
    assert not np.any(ops.convert_to_numpy(output)[0, :2])
