"""LSH attention: the softmax over what the rounds let a position meet, written out; hashes, masks, steps."""

import numpy as np
import pytest
from keras import ops

from tests.weights import of_policy, randomised
from zoo.attention import LSHAttention
from zoo.attention.chunks import sort_rows, unsort_rows
from zoo.attention.lsh import hash_vectors, lsh_attention, unit
from zoo.check.laws import check_causal, length_mask, sequences
from zoo.gradients.recompute import recording, replaying, vjp

CHUNK = 4


def meeting(buckets, length, causal):
    """`(time, time)` bool: who attends to whom in any round, pair by pair; `buckets (rounds, time)`."""
    rounds, time = buckets.shape
    met = np.zeros((time, time), bool)
    for r in range(rounds):
        ranked = sorted(range(length), key=lambda i: (buckets[r, i], i))
        chunk = {position: place // CHUNK for place, position in enumerate(ranked)}
        for i in range(length):
            for j in range(length):
                met[i, j] |= chunk[j] in (chunk[i], chunk[i] - 1)
    return met & (np.arange(time) <= np.arange(time)[:, None]) if causal else met


def softmax_over(met, qk, values):
    """`(time, d)` of one head: softmax of `q_i k_j / ||k_j||` over `met[i]`, over `i` only where it meets no other."""
    outputs = np.zeros_like(values)
    for i in np.flatnonzero(met.any(axis=1)):
        others = [j for j in np.flatnonzero(met[i]) if j != i] or [i]
        scores = np.array([qk[i] @ qk[j] / np.linalg.norm(qk[j]) for j in others])
        weights = np.exp(scores - scores.max())
        outputs[i] = weights @ values[others] / weights.sum()
    return outputs


def heads(time, seed=0, batch=3, heads=2, d=5):
    return np.random.default_rng(seed).normal(size=(batch, heads, time, d))


def union_error(rounds, causal, time=28, lengths=(28, 17, 0)):
    qk, values = heads(time), heads(time, seed=1)
    buckets = np.random.default_rng(2).integers(0, 6, (3, 2, rounds, time)).astype("int32")
    mask = np.arange(time) < np.array(lengths)[:, None]
    received = ops.convert_to_numpy(
        lsh_attention(*map(ops.convert_to_tensor, (qk, values, buckets)), CHUNK, mask, causal)
    )
    worst = 0.0
    for row, length in enumerate(lengths):
        for head in range(2):
            expected = softmax_over(meeting(buckets[row, head], length, causal), qk[row, head], values[row, head])
            worst = max(worst, np.abs(received[row, head] - expected).max())
    return worst


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_rounds_are_one_softmax_over_their_union(rounds, causal):
    assert union_error(rounds, causal) < 1e-9


@pytest.mark.parametrize("take", [sort_rows, unsort_rows])
def test_the_gradient_of_sorted_rows_adds_those_of_all_rounds(take):
    """Against sums into an array of zeros, row by row."""
    generator, shape = np.random.default_rng(4), (2, 3, 4, 7, 5)
    order = np.argsort(generator.normal(size=shape[:4]), axis=-1)
    rank = np.argsort(order, axis=-1)
    x, upstream = (
        generator.normal(size=shape[:2] + (7, 5) if take is sort_rows else shape),
        generator.normal(size=shape),
    )
    moved, summed = np.zeros(shape), np.zeros(x.shape)
    for b, h, r, place in np.ndindex(*shape[:4]):
        here = (b, h, order[b, h, r, place]) if take is sort_rows else (b, h, r, rank[b, h, r, place])
        moved[b, h, r, place] = x[here]
        summed[here] += upstream[b, h, r, place]
    places = [ops.convert_to_tensor(each.astype("int32")) for each in (order, rank)]
    received, (gradient,) = vjp(
        lambda each: take(each, *places), [ops.convert_to_tensor(x)], ops.convert_to_tensor(upstream)
    )
    np.testing.assert_array_equal(ops.convert_to_numpy(received), moved)
    np.testing.assert_allclose(ops.convert_to_numpy(gradient), summed, rtol=1e-12)


def test_hashes_are_the_nearest_of_the_rotated_directions():
    x, generator = heads(7), np.random.default_rng(3)
    rotations = [generator.normal(size=(2, 5, 3, half)) for half in (2, 3)]
    received = ops.convert_to_numpy(hash_vectors(x, rotations))
    for index in np.ndindex(3, 2, 3, 7):
        b, h, r, t = index
        places = []
        for rotation in rotations:
            rotated = x[b, h, t] @ rotation[h, :, r]
            places.append(np.argmax(np.concatenate([rotated, -rotated])))
        assert received[index] == places[0] * 6 + places[1]


def made(**settings):
    layer = LSHAttention(6, 2, **{"num_buckets": 4, "chunk_length": CHUNK, "seed": 3, **settings})
    layer.build((None, None, 6))
    return randomised(layer, 3)


ROWS = ((1, 13), (2, 6), (3, 0))
X, MASK = sequences(ROWS, 13, 6), length_mask(ROWS, 13)


def by_hand(layer, x, causal):
    """One row by the equations above, with the layer's weights and the buckets of its rotations."""
    query, value, output = (ops.convert_to_numpy(p.kernel) for p in projections(layer))
    bias = ops.convert_to_numpy(layer.output_projection.bias)
    mixed = []
    for head in range(2):
        columns = slice(3 * head, 3 * head + 3)
        qk, values = x @ query[:, columns], x @ value[:, columns]
        rotated = np.einsum("td,drn->rtn", qk, ops.convert_to_numpy(layer.rotations[0])[head])
        buckets = np.argmax(np.concatenate([rotated, -rotated], axis=-1), axis=-1)
        mixed.append(softmax_over(meeting(buckets, len(x), causal), qk, values))
    return np.concatenate(mixed, axis=-1) @ output + bias


def projections(layer):
    return layer.query_projection, layer.value_projection, layer.output_projection


@pytest.mark.parametrize("causal", [False, True])
def test_is_the_papers_equation(causal):
    """Lengths that no chunk divides, one of them shorter than a chunk's two, one 0."""
    layer = made(use_bias=True)
    for projection in projections(layer)[:2]:
        projection.bias.assign(np.zeros(6))
    received = ops.convert_to_numpy(layer(X, value_mask=MASK, causal=causal))
    for row, (_, length) in enumerate(ROWS):
        np.testing.assert_allclose(received[row, :length], by_hand(layer, X[row, :length], causal), atol=1e-5)
    padded = np.broadcast_to(ops.convert_to_numpy(layer.output_projection.bias), (13, 6))
    np.testing.assert_allclose(received[2], padded, atol=1e-6)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("rounds", [1, 4])
def test_one_chunk_is_exact_attention(rounds, causal):
    layer = made(rounds=rounds, chunk_length=16)
    exact, _ = layer(X, value_mask=MASK, causal=causal, cache=layer.project(X))
    received = layer(X, value_mask=MASK, causal=causal)
    for row, (_, length) in enumerate(ROWS):
        np.testing.assert_allclose(received[row, :length], exact[row, :length], atol=1e-5)


def recall_of_neighbours(rounds, chunk, time=1024, d=64, cosine=0.6):
    """How often the first of two unit vectors of that cosine meets the second; the positions are full of such pairs."""
    generator = np.random.default_rng(rounds)
    one = generator.normal(size=(time // 2, d))
    one /= np.linalg.norm(one, axis=-1, keepdims=True)
    away = generator.normal(size=one.shape)
    away -= (away * one).sum(-1, keepdims=True) * one
    other = cosine * one + np.sqrt(1 - cosine**2) * away / np.linalg.norm(away, axis=-1, keepdims=True)
    places = generator.permutation(time)
    x = np.concatenate([one, other])[np.argsort(places)][None, None]
    rotation = generator.normal(size=(1, d, rounds, time // chunk))
    hashes = ops.convert_to_numpy(hash_vectors(x, [rotation]))[0, 0]
    rank = np.argsort(np.argsort(hashes, axis=-1, kind="stable"), axis=-1)
    first, second = rank[:, places[: time // 2]] // chunk, rank[:, places[time // 2 :]] // chunk
    return np.isin(first - second, (0, 1)).any(axis=0).mean()


def test_neighbours_are_found_more_often_with_more_rounds():
    """As a study of the paper's scheme found them (1024 positions, chunks of 128): .44, .66, .90, .99 of the pairs."""
    found = [recall_of_neighbours(rounds, 128) for rounds in (1, 2, 4, 8)]
    assert all(more > fewer + 0.05 for fewer, more in zip(found, found[1:], strict=False)), found
    np.testing.assert_allclose(found, [0.44, 0.66, 0.90, 0.99], atol=0.07)


@pytest.mark.slow
def test_no_later_position_is_seen():
    layer = made()
    check_causal(lambda x: layer(x, causal=True), X[:2])


@pytest.mark.slow
@pytest.mark.release(but=1)
@pytest.mark.parametrize("chunk_length", [16, 4])
def test_steps_are_the_causal_pass_of_one_chunk(chunk_length):
    """However long the layer's own chunks are; over caches that grow, and over static ones."""
    layer, x = made(chunk_length=chunk_length), X[:2]
    expected = ops.convert_to_numpy(made(chunk_length=16)(x, causal=True))
    growing, static = layer.empty_cache(2, 0), layer.empty_cache(2, 13)
    for position in range(13):
        new, seen = x[:, position : position + 1], np.broadcast_to(np.arange(13) <= position, (2, 1, 13))
        output, growing = layer.step(new, growing)
        other, static = layer.step(new, static, seen, write_index=position)
        for found in (output, other):
            np.testing.assert_allclose(ops.convert_to_numpy(found)[:, 0], expected[:, position], atol=1e-5)


def test_rotations_come_from_the_seed_and_are_not_trained():
    layer = made(num_buckets=[4, 6])
    assert [tuple(each.shape) for each in layer.rotations] == [(2, 3, 2, 2), (2, 3, 2, 3)]
    assert not any(each.trainable for each in layer.rotations) and len(layer.trainable_weights) == 3
    for one, same, other in zip(
        layer.rotations, made(num_buckets=[4, 6]).rotations, made(num_buckets=[4, 6], seed=4).rotations, strict=True
    ):
        np.testing.assert_array_equal(one, same)
        assert not np.allclose(one, other)


@pytest.mark.slow
def test_resampled_rotations_differ_from_step_to_step_in_training_only():
    layer = made(resample=True)
    still = [ops.convert_to_numpy(layer(X)) for _ in range(2)]
    drawn = [ops.convert_to_numpy(layer(X, training=True)) for _ in range(2)]
    np.testing.assert_array_equal(*still)
    assert not np.allclose(*drawn)


def test_replayed_buckets_are_those_of_the_record():
    layer, record = made(), []
    with recording(record):
        first = ops.convert_to_numpy(layer(X))
    for rotation in layer.rotations:
        rotation.assign(-rotation[..., ::-1])
    assert not np.allclose(ops.convert_to_numpy(layer(X)), first)
    with replaying(record):
        np.testing.assert_array_equal(ops.convert_to_numpy(layer(X)), first)


def test_keys_have_unit_length_and_zeros_are_harmless():
    np.testing.assert_allclose(np.linalg.norm(ops.convert_to_numpy(unit(heads(3))), axis=-1), 1.0, atol=1e-9)
    assert np.all(np.isfinite(ops.convert_to_numpy(unit(np.zeros((1, 1, 2, 3), "float32")))))


def test_a_value_is_refused():
    with pytest.raises(ValueError, match="expected value=None.*MultiHeadAttention"):
        made()(X, X)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"units": 7}, "heads divide evenly.*units=7, num_heads=2"),
        ({"chunk_length": 0}, "chunk_length=0"),
        ({"rounds": 1.5}, "rounds=1.5"),
        ({"num_buckets": 3}, "even.*num_buckets=3"),
        ({"num_buckets": [4, 5]}, r"even.*num_buckets=\[4, 5\]"),
        ({"num_buckets": []}, r"num_buckets=\[\]"),
        ({"num_buckets": [2048, 2048]}, "at most 1048576"),
    ],
)
def test_settings_are_checked(settings, message):
    with pytest.raises(ValueError, match=message):
        LSHAttention(**{"units": 6, "num_heads": 2, **settings})


def test_mixed_precision_hashes_in_float32():
    """So the buckets of the same projections are those of float32."""
    with of_policy("mixed_bfloat16"):
        layer = made()
    assert layer(X).dtype == "bfloat16"
    assert all(each.dtype == "float32" for each in layer.rotations)
