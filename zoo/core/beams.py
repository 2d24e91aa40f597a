"""Beams are an axis of their own, after the batch: leaves are `(batch, beams, ...)`."""

from keras import ops, tree


def gather_beams(structure, parents):
    """Every leaf `(batch, beams, ...)` reordered along its beams: `leaf[b, k] <- leaf[b, parents[b, k]]`."""
    return tree.map_structure(lambda leaf: gather_leaf(leaf, parents), structure)


def gather_leaf(leaf, parents):
    batch, beams = ops.shape(leaf)[0], ops.shape(leaf)[1]
    rows = ops.arange(batch, dtype="int32")[:, None] * beams + parents
    flat = ops.reshape(leaf, (-1, *ops.shape(leaf)[2:]))
    return ops.reshape(
        ops.take(flat, ops.reshape(rows, (-1,)), axis=0),
        (batch, ops.shape(parents)[1], *ops.shape(leaf)[2:]),
    )


def flatten_beams(tensor):
    """(batch, beams, ...) -> (batch * beams, ...)."""
    return ops.reshape(tensor, (-1, *tensor.shape[2:]))
