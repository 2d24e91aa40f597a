"""Keys and values of the tokens written so far: one pool for each source sentence, shared by its beams.

A step appends one entry per beam; entry `j` of a step belongs to beam `j`, and `seen[b, k, s]` says whether beam `k`'s
history holds entry `s`. When beams change parents only `seen` moves, never a key: a tree of hypotheses in one array.
Keys and values are `(batch, heads, entries, head_dim)`. The cache of a recurrence has no entries: it is the state of
each beam, `(batch, beams, width)`, and moves with the beams.

A *growing* pool is extended by concatenation: no step looks at an entry that is not written yet, but its shape changes,
which XLA cannot have. A *static* pool has all entries from the start and is written in place.
"""

from keras import ops


def add_room(cache, entries):
    """A static pool: the given one with room for `entries` more."""
    return {name: ops.pad(leaf, ((0, 0), (0, 0), (0, entries), (0, 0))) for name, leaf in cache.items()}


def align_right(cache, mask):
    """The pool of a prompt with each row's padding, by its mask `(batch, time)`, moved from its end to its front.

    The oldest entries of each prompt then come first, whatever the lengths, and a cache may be cut at its front.
    """
    lengths, time = ops.sum(ops.cast(mask, "int32"), axis=1, keepdims=True), ops.shape(mask)[1]
    places = (ops.arange(time, dtype="int32")[None, :] + lengths) % time

    def moved(leaf):
        return ops.take_along_axis(leaf, ops.broadcast_to(places[:, None, :, None], ops.shape(leaf)), axis=2)

    return {name: moved(leaf) for name, leaf in cache.items()}


def last_states(cache, mask, beams):
    """The states of a recurrence behind a prompt, for each beam, of those behind all its positions.

    `mask (batch, time)` keeps the first positions of each row; behind none of them the state is 0.
    """
    place = ops.sum(ops.cast(mask, "int32"), axis=1)[:, None, None]

    def last(leaf):
        behind = ops.pad(leaf, ((0, 0), (1, 0), (0, 0)))
        place_of_all = ops.broadcast_to(place, (ops.shape(leaf)[0], 1, leaf.shape[-1]))
        return ops.repeat(ops.take_along_axis(behind, place_of_all, axis=1), beams, axis=1)

    return {name: last(leaf) for name, leaf in cache.items()}


def entries_of(state):
    """The number of entries of a stack's state whose pools are static; None where they grow."""
    return ops.shape(state["seen"])[2] if "write_index" in state else None


def append(cache, keys, values, write_index=None):
    """The pool with `keys`, `values` `(batch, heads, beams, head_dim)` behind its last entry, or at `write_index`."""
    new = {"keys": keys, "values": values}
    if write_index is None:
        return {name: ops.concatenate([cache[name], new[name]], axis=2) for name in new}
    return {name: ops.slice_update(cache[name], (0, 0, write_index, 0), new[name]) for name in new}


def extend_seen(seen, beams, write_index=None, memory_mask=None):
    """`seen` after a step: each beam sees its own new entry.

    The mask of a memory, which no step changes, tells the size of the batch, so that a graph need not ask each state.
    """
    beam = ops.arange(beams, dtype="int32")  # ops.eye has no ONNX form where `beams` is dynamic
    batch = ops.shape(seen if memory_mask is None else memory_mask)[0]
    own = ops.broadcast_to((beam[:, None] == beam)[None], (batch, beams, beams))
    if write_index is None:
        return ops.concatenate([seen, own], axis=2)
    return ops.slice_update(seen, (0, 0, write_index), own)
