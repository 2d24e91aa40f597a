"""Sequences that are cut into chunks, and which chunks each of them meets: in a row, or in a ring.

A ring, as in Hugging Face's Reformer, closes behind the last chunk of each text by itself, however far its batch is
padded.
"""

import keras
import numpy as np
from keras import ops

from zoo.core.later import later

jax = later("jax")


def chunked(x, length):
    """`(batch, heads, time, d)` -> `(batch, heads, chunks, length, d)`."""
    batch, heads, time, depth = ops.shape(x)
    return ops.reshape(x, (batch, heads, time // length, length, depth))


def take_rows(x, index):
    """`y[b, h, ...] = x[b, h, index[b, h, ...]]`: x `(batch, heads, rows, d)`, index `(batch, heads, ...)`."""
    batch, heads, rows = ops.shape(x)[:3]
    if keras.backend.backend() == "jax":  # as fast, and each of several devices reads the rows of its own texts alone
        flat = ops.reshape(index, (batch, heads, -1, 1))
        return ops.reshape(ops.take_along_axis(x, flat, axis=2), (*ops.shape(index), x.shape[-1]))
    base = ops.arange(batch * heads, dtype="int32") * rows
    index = index + ops.reshape(base, (batch, heads, *[1] * (len(index.shape) - 2)))
    return ops.take(ops.reshape(x, (-1, x.shape[-1])), index, axis=0)


@ops.custom_gradient
def sort_rows(x, order, rank):
    """`(batch, heads, rounds, time, d)`: the rows of x `(batch, heads, time, d)` as each round sorts them.

    `order` and `rank`, `(batch, heads, rounds, time)` int32, undo each other: place `rank[.., i]` of a round has row i.
    So the gradient takes rows as well, those of row i from all rounds. It would add each row to an array of zeros
    otherwise, which is slow, and XLA makes the zeros of all layers of a stack before the first of them is needed.
    """

    def gradient(*upstream, **_):
        return ops.sum(_unsort(upstream[0], rank), axis=2), *map(_no_gradient, (order, rank))

    return take_rows(x, order), gradient


@ops.custom_gradient
def unsort_rows(x, order, rank):
    """`(batch, heads, rounds, time, d)`: the sorted rows of each round where they were; arguments as of `sort_rows`."""

    def gradient(*upstream, **_):
        return _unsort(upstream[0], order), *map(_no_gradient, (order, rank))

    return _unsort(x, rank), gradient


def _unsort(x, rank):
    """`y[.., r, i, :] = x[.., r, rank[.., r, i], :]`."""
    batch, heads, rounds, time = ops.shape(rank)
    first = ops.arange(rounds, dtype="int32")[:, None] * time
    return take_rows(ops.reshape(x, (batch, heads, -1, x.shape[-1])), rank + first)


def _no_gradient(index):
    """The gradient of whole numbers, as each backend has it."""
    return None if keras.backend.backend() == "tensorflow" else np.zeros(index.shape, jax.dtypes.float0)


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


def in_a_row(count, before):
    """`(1, count, before + 1)` int32: the chunks that each one meets, itself last; -1 is none."""
    places = ops.arange(count, dtype="int32")[:, None] + ops.arange(-before, 1, dtype="int32")
    return ops.maximum(places, -1)[None]


def in_a_ring(own, count, rounds, looks):
    """`(batch, rounds * count, before + 1 + after)` int32: the chunks that each one meets, in order.

    The chunks of all rounds of a text form one ring: before the first chunk of a round stands the last one of the round
    before. A step of more than the whole ring stays where it is, as there; so short rings meet a chunk twice. A text of
    one chunk meets that alone, and -1 is none.

    Args:
        own: `(batch,)` int32, how many chunks of a round belong to each text.
        count: how many there are with the padding.
        rounds: number of rounds.
        looks: `(before, after)`.
    """
    own = ops.maximum(own, 1)[:, None, None, None]
    total = rounds * own
    steps = ops.arange(-looks[0], looks[1] + 1, dtype="int32")
    steps = ops.where(ops.abs(steps) < total, steps, 0)
    rows, chunks = ops.arange(rounds, dtype="int32")[:, None, None], ops.arange(count, dtype="int32")[:, None]
    place = rows * own + ops.minimum(chunks, own - 1) + steps + total
    place = place - place // total * total
    row = place // own
    alone = ops.logical_and(own == 1, ops.arange(sum(looks) + 1, dtype="int32") != looks[0])
    index = ops.where(alone, -1, row * count + place - row * own)
    return ops.reshape(index, (ops.shape(own)[0], rounds * count, sum(looks) + 1))


def chunks_of_texts(mask, chunk_length, multiple):
    """`(batch,)` int32: the chunks of each text, padded by itself to a multiple; `mask (batch, time)` bool."""
    places = ops.arange(1, ops.shape(mask)[1] + 1, dtype="int32")
    extent = ops.max(ops.where(mask, places, 0), axis=1)
    return (extent + multiple - 1) // multiple * (multiple // chunk_length)
