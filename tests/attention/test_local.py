"""Local attention and LSH in a ring: who meets whom, written out chunk by chunk; steps; sizes."""

import keras
import numpy as np
import pytest
from keras import ops

from tests.weights import randomised
from zoo.attention import LocalAttention, RingLSHAttention
from zoo.attention.lsh import hash_vectors
from zoo.check.laws import length_mask, sequences

ROWS = ((1, 17), (2, 9), (3, 2), (4, 0))
X, MASK = sequences(ROWS, 17, 6), length_mask(ROWS, 17)


def met(chunks, looks):
    """For each chunk the chunks that it meets, in a ring: a list of lists of positions, and so of the result."""
    if len(chunks) == 1:
        return chunks
    before, after = looks
    steps = [step if abs(step) < len(chunks) else 0 for step in range(-before, after + 1)]
    return [[j for step in steps for j in chunks[(i + step) % len(chunks)]] for i in range(len(chunks))]


def cut(order, chunk_length, multiple):
    """A list of positions in chunks, the last ones maybe empty."""
    padded = -(-len(order) // multiple) * multiple
    return [order[start : start + chunk_length] for start in range(0, padded, chunk_length)]


def softmax(scores):
    weights = np.exp(scores - scores.max())
    return weights / weights.sum()


def kernels(layer, *names):
    return (ops.convert_to_numpy(getattr(layer, f"{name}_projection").kernel).astype("float64") for name in names)


def local_by_hand(layer, x, causal):
    """One text."""
    query, key, value, output = kernels(layer, "query", "key", "value", "output")
    chunks = cut(list(range(len(x))), layer.chunk_length, layer.multiple or layer.chunk_length)
    seen = met(chunks, layer.looks)
    mixed = np.zeros((len(x), query.shape[1]))
    for own, others in zip(chunks, seen, strict=True):
        for i in own:
            keys = [j for j in others if j <= i] if causal else others
            for head in range(layer.num_heads):
                part = slice(head * layer.head_dim, (head + 1) * layer.head_dim)
                scores = (x[keys] @ key)[:, part] @ (x[i] @ query)[part] / np.sqrt(layer.head_dim)
                mixed[i, part] = softmax(scores) @ (x[keys] @ value)[:, part]
    return mixed @ output


def ring_lsh_by_hand(layer, x, causal):
    """One text, with the buckets of the layer's rotations."""
    query, value, output = kernels(layer, "query", "value", "output")
    split = layer.split_heads(ops.convert_to_tensor(x[None].astype("float32") @ query.astype("float32")))
    buckets = ops.convert_to_numpy(hash_vectors(split, layer.rotations))[0]
    mixed = np.zeros((len(x), query.shape[1]))
    for head in range(layer.num_heads):
        part = slice(head * layer.head_dim, (head + 1) * layer.head_dim)
        qk, values = (x @ query)[:, part], (x @ value)[:, part]
        rounds = [sorted(range(len(x)), key=lambda i, r=r: (buckets[head, r, i], i)) for r in range(layer.rounds)]
        chunks = [
            each for order in rounds for each in cut(order, layer.chunk_length, layer.multiple or layer.chunk_length)
        ]
        one = len(chunks) == layer.rounds
        seen = chunks if one else met(chunks, layer.looks)
        sums, outputs = np.full((layer.rounds, len(x)), -np.inf), np.zeros((layer.rounds, len(x), layer.head_dim))
        for place, (own, others) in enumerate(zip(chunks, seen, strict=True)):
            r = place // (len(chunks) // layer.rounds)
            for i in own:
                keys = [j for j in others if j <= i] if causal else others
                scores = np.array([-1e5 if j == i else qk[i] @ qk[j] / np.linalg.norm(qk[j]) for j in keys])
                sums[r, i] = scores.max() + np.log(np.exp(scores - scores.max()).sum())
                outputs[r, i] = softmax(scores) @ values[keys]
        shares = np.exp(sums - sums.max(0))
        mixed[:, part] = ((shares / shares.sum(0))[..., None] * outputs).sum(0)
    return mixed @ output


def made(kind, **settings):
    keras.utils.set_random_seed(3)
    layer = kind(6, 2, **settings)
    layer.build((None, None, 6))
    rotations = [ops.convert_to_numpy(each) for each in layer.non_trainable_weights]
    randomised(layer, 3)
    for weight, drawn in zip(layer.non_trainable_weights, rotations, strict=True):
        weight.assign(drawn)
    return layer


def compare(layer, by_hand, causal):
    received = ops.convert_to_numpy(layer(X, value_mask=MASK, causal=causal))
    for row, (_, length) in enumerate(ROWS[:-1]):
        x = X[row, :length].astype("float64")
        np.testing.assert_allclose(received[row, :length], by_hand(layer, x, causal), atol=2e-5)


@pytest.mark.parametrize("settings", [{}, {"looks": (2, 0), "head_units": 5}, {"chunk_length": 3}])
def test_looks_back_at_the_chunks_before_its_own(settings):
    compare(made(LocalAttention, **{"chunk_length": 4} | settings), local_by_hand, causal=True)


@pytest.mark.parametrize(
    "settings", [{}, {"looks": (2, 1)}, {"looks": (0, 0)}, {"multiple": 12, "looks": (1, 1)}, {"chunk_length": 32}]
)
def test_chunks_are_a_ring_that_each_text_closes_by_itself(settings):
    compare(made(LocalAttention, **{"chunk_length": 4} | settings), local_by_hand, causal=False)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    "settings",
    [{}, {"rounds": 3}, {"looks": (2, 1), "head_units": 5}, {"rounds": 2, "multiple": 12}, {"chunk_length": 32}],
)
def test_sorted_chunks_of_all_rounds_are_a_ring(settings, causal):
    own = {"chunk_length": 4, "num_buckets": [2, 4]} | settings
    compare(made(RingLSHAttention, **own), ring_lsh_by_hand, causal)


def test_steps_in_a_ring_of_one_chunk_are_the_full_pass():
    """Of several chunks they are not: a step sees all that came before it."""
    layer = made(RingLSHAttention, chunk_length=32, num_buckets=4, head_units=5)
    exact, _ = layer(X, value_mask=MASK, causal=True, cache=layer.project(X))
    received = layer(X, value_mask=MASK, causal=True)
    for row, (_, length) in enumerate(ROWS):
        np.testing.assert_allclose(received[row, :length], exact[row, :length], atol=1e-5)


def test_weights_for_plots_are_those_of_the_pass():
    layer = made(LocalAttention, chunk_length=4)
    weights = ops.convert_to_numpy(layer.attention_weights(X, value_mask=MASK, causal=True))
    values = ops.convert_to_numpy(layer.split_heads(layer.value_projection(X)))
    mixed = layer.output_projection(layer.join_heads(ops.convert_to_tensor(weights @ values)))
    received = layer(X, value_mask=MASK, causal=True)
    np.testing.assert_allclose(ops.convert_to_numpy(received)[0], ops.convert_to_numpy(mixed)[0], atol=1e-5)


@pytest.mark.parametrize("kind", [LocalAttention, RingLSHAttention])
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"looks": (1,)}, "two whole numbers from 0 on.*Received: looks=.1,."),
        ({"looks": (-1, 0)}, "two whole numbers from 0 on"),
        ({"multiple": 6}, "one of chunk_length=4. Received: multiple=6"),
        ({"chunk_length": 0}, "positive"),
        ({"head_units": 0}, "head_units"),
    ],
)
def test_sizes_are_checked(kind, settings, message):
    with pytest.raises(ValueError, match=message):
        made(kind, **{"chunk_length": 4} | settings)


@pytest.mark.parametrize("kind", [LocalAttention, RingLSHAttention])
def test_a_memory_is_refused(kind):
    with pytest.raises(ValueError, match="expected value=None"):
        made(kind, chunk_length=4)(X, X)
