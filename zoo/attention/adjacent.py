"""Chunks of a sequence that meet the chunks beside them: in a row, or in a ring, as in Hugging Face's Reformer.

A ring closes behind the last chunk of each text by itself, however far its batch is padded.
"""

from keras import ops


def checked_looks(layer, looks):
    """`(before, after)`, how many chunks are met on each side, as a tuple.

    Raises:
        ValueError: it is no pair of whole numbers from 0 on.
    """
    pair = isinstance(looks, (list, tuple)) and len(looks) == 2
    if not pair or not all(isinstance(each, int) and each >= 0 for each in looks):
        raise ValueError(
            f"{layer} needs looks as two whole numbers from 0 on, the chunks before and after its own that a position "
            f"meets. Received: looks={looks!r}."
        )
    return tuple(looks)


def checked_multiple(layer, multiple, chunk_length):
    """`multiple`, or the length of a chunk where it is None.

    Raises:
        ValueError: it is no multiple of the length of a chunk.
    """
    if multiple is None:
        return chunk_length
    if not isinstance(multiple, int) or multiple < 1 or multiple % chunk_length:
        raise ValueError(
            f"{layer} pads to whole chunks, so multiple must be one of chunk_length={chunk_length}. Received: "
            f"multiple={multiple!r}."
        )
    return multiple


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
