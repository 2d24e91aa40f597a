"""The arithmetic of LSH attention: hash, sort, cut into chunks, attend within them, and combine the rounds."""

import keras
from keras import ops

from zoo.core.masks import MASKED

ALONE = -1e5  # the score of a position for itself, which counts only if it meets no other
BEHIND = 2**20  # the bucket of padding; tf2onnx sorts as float32, which holds whole numbers up to 2^24


def unit(x):
    """`x / ||x||` over the last axis."""
    return x * ops.rsqrt(ops.sum(x * x, axis=-1, keepdims=True) + 1e-12)


def hash_vectors(x, rotations):
    """`h(x) = argmax([xR; -xR])` for each round, several factors joined: `(batch, heads, rounds, time)` int32.

    Args:
        x: `(batch, heads, time, d)`.
        rotations: list of `(heads, d, rounds, n_i / 2)`; the hash is a number of mixed radix below `n_1 n_2 ...`.
    """
    total = 0
    for rotation in rotations:
        rotated = ops.einsum("bhtd,hdrn->bhrtn", x, ops.cast(rotation, x.dtype))
        rotated = ops.concatenate([rotated, -rotated], axis=-1)
        best = rotated == ops.max(rotated, axis=-1, keepdims=True)
        total = total * rotated.shape[-1] + ops.cast(ops.argmax(ops.cast(best, "int32"), axis=-1), "int32")
    return total


def take_rows(x, index):
    """`y[b, h, ...] = x[b, h, index[b, h, ...]]`: x `(batch, heads, rows, d)`, index `(batch, heads, ...)`."""
    batch, heads, rows = ops.shape(x)[:3]
    if keras.backend.backend() == "jax":  # as fast, and each of several devices reads the rows of its own texts alone
        flat = ops.reshape(index, (batch, heads, -1, 1))
        return ops.reshape(ops.take_along_axis(x, flat, axis=2), (*ops.shape(index), x.shape[-1]))
    base = ops.arange(batch * heads, dtype="int32") * rows
    index = index + ops.reshape(base, (batch, heads, *[1] * (len(index.shape) - 2)))
    return ops.take(ops.reshape(x, (-1, x.shape[-1])), index, axis=0)


def neighbours(x, index):
    """The chunks that each one meets, side by side; for the index -1 any.

    Args:
        x: `(batch, heads, chunks, length, d)`.
        index: `(batch | 1, chunks, slots)` int32.

    Returns: `(batch, heads, chunks, slots * length, d)`.
    """
    (batch, heads, chunks), (length, width) = ops.shape(x)[:3], x.shape[-2:]
    slots = index.shape[-1]
    index = ops.broadcast_to(ops.maximum(index, 0)[:, None], (batch, heads, chunks, slots))
    met = take_rows(ops.reshape(x, (batch, heads, chunks, length * width)), index)
    return ops.reshape(met, (batch, heads, chunks, slots * length, width))


def places_of_neighbours(known, index):
    """`neighbours` of places `(batch, heads, chunks, length, 1)`, -1 where there is none."""
    there = ops.repeat(index >= 0, known.shape[3], axis=2)[:, None, :, :, None]
    return ops.where(there, neighbours(known, index), -1)


def windows(x, fill=0):
    """Each chunk after the previous one, `(..., chunks, c, d)` -> `(..., chunks, 2c, d)`; the first behind `fill`."""
    before = ops.pad(x, [(0, 0)] * (len(x.shape) - 3) + [(1, 0), (0, 0), (0, 0)], constant_values=fill)
    return ops.concatenate([before[..., :-1, :, :], x], axis=-2)


def multiplicity(chunk_of, order, chunk):
    """`N_ij`: in how many rounds `i` meets `j`, for every pair of every window; at least 1.

    Args:
        chunk_of: `(batch, heads, time, rounds)`, the chunk that each position is sorted into.
        order: `(batch, heads, rounds, time)`, positions in sorted order.
        chunk: chunk length.
    """
    met = take_rows(chunk_of, order)
    met = ops.reshape(met, (*ops.shape(order)[:3], -1, chunk, chunk_of.shape[-1]))
    others, count = windows(met, fill=-2), 0
    for index in range(chunk_of.shape[-1]):
        step = met[..., :, None, index] - others[..., None, :, index]
        count = count + ops.cast(ops.logical_or(step == 0, step == 1), "int32")
    return ops.maximum(count, 1)


def lsh_attention(qk, values, buckets, chunk, mask=None, causal=False, ring=None):
    """Softmax attention of each position over the union of what its rounds let it meet.

    In round `r` positions are sorted by `(bucket, position)`, cut into chunks, and `i` meets the positions of its own
    chunk and of the previous one. `o_i = sum_r exp(z_i^r - z_i) o_i^r`, `z_i^r` the log-sum-exp of `q_i k_j - log N_ij`
    over what it meets in round `r`, `z_i` that over the rounds: with the multiplicity `N_ij` (in how many rounds `i`
    meets `j`) this is one softmax over the union.

    Args:
        qk: `(batch, heads, time, d)`, the shared queries and keys; keys are brought to unit length.
        values: `(batch, heads, time, d)`.
        buckets: `(batch, heads, rounds, time)` int32, below 2^20.
        chunk: a divisor of the time.
        mask: `(batch, time)` bool, True = keep. Masked positions are sorted after all others, and their outputs are 0.
        causal: position j sees only positions up to j.
        ring: `(batch, rounds * chunks, slots)` int32, the chunks that each one meets instead, of all rounds in order
            (`zoo.attention.adjacent`); then there is no `N_ij`, and what meets twice counts twice.

    Returns: `(batch, heads, time, d)`.
    """
    (batch, heads, time, _), rounds = ops.shape(qk), buckets.shape[2]
    if mask is not None:
        buckets = ops.where(mask[:, None, None, :], buckets, BEHIND)
    order = ops.cast(ops.argsort(buckets, axis=-1), "int32")  # stable on every engine, so also by position
    rank = ops.cast(ops.argsort(order, axis=-1), "int32")
    known = order  # the position of each sorted place, -1 where it is padding
    if mask is not None:
        kept = ops.sum(ops.cast(mask, "int32"), axis=1)[:, None, None, None]
        known = ops.where(ops.arange(time, dtype="int32") < kept, order, -1)

    def chunked(x):
        return ops.reshape(x, (batch, heads, rounds, -1, chunk, x.shape[-1]))

    def around(x, fill=0):
        if ring is None:
            return windows(x, fill)
        meet = neighbours if fill == 0 else places_of_neighbours
        met = meet(ops.reshape(x, (batch, heads, -1, chunk, x.shape[-1])), ring)
        return ops.reshape(met, (batch, heads, rounds, -1, ring.shape[2] * chunk, x.shape[-1]))

    queries, sorted_values = chunked(take_rows(qk, order)), chunked(take_rows(values, order))
    here = chunked(known[..., None])
    there = ops.swapaxes(around(here, fill=-1), -1, -2)  # where the keys of each query are, -1 before the first chunk
    scores = ops.matmul(queries, ops.swapaxes(around(unit(queries)), -1, -2))
    scores = ops.where(here == there, ALONE, scores)
    if rounds > 1 and ring is None:
        chunk_of = ops.transpose(rank // chunk, (0, 1, 3, 2))
        scores = scores - ops.log(ops.cast(multiplicity(chunk_of, order, chunk), scores.dtype))
    allowed = ops.logical_and(there >= 0, there <= here) if causal else there >= 0
    scores = ops.where(allowed, scores, MASKED)
    log_sum = ops.logsumexp(scores, axis=-1, keepdims=True)
    weights = ops.exp(scores - log_sum)
    if ring is not None:  # where a position meets nothing but itself, and twice, float32 rounds the sum by up to 0.004
        weights = weights / ops.sum(weights, axis=-1, keepdims=True)
    outputs = ops.matmul(weights, around(sorted_values))

    def unsorted(x):
        """`(batch, heads, rounds, time, ...)`."""
        first = ops.arange(rounds, dtype="int32")[:, None] * time
        return take_rows(ops.reshape(x, (batch, heads, -1, x.shape[-1])), rank + first)

    if rounds == 1:
        mixed = unsorted(outputs)[:, :, 0]
    else:
        mixed = ops.sum(ops.softmax(unsorted(log_sum), axis=2) * unsorted(outputs), axis=2)
    return mixed if mask is None else ops.where(mask[:, None, :, None], mixed, 0.0)
