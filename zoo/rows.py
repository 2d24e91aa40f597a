"""Tables of which a step reads a few rows, and whose gradient therefore is a few rows.

`mixed_rows` reads them. On TensorFlow the gradient of a gather knows its rows by itself. On JAX it is as large as the
table; there a training step opens `tapping`: the table is held fixed, and of the outputs `o_t = sum_j w_tj V[i_tj]` the
step takes the gradient `g_t` by a zero added to them. `(i, w, g)` then is the gradient of `V`, in factors:
`dV[i] = sum of w_tj g_t over i_tj = i`.
"""

import contextlib
import threading

from keras import ops

_active = threading.local()


class Taps:
    """What the lookups of one pass read: tables, indices and weights `(positions, rows)`; and zeros they add.

    Args:
        zeros: one a lookup, `(positions, units)`; None where their shapes are still to be found (of `outputs`).
    """

    def __init__(self, zeros=None):
        self.zeros, self.tables, self.indices, self.weights, self.outputs = zeros, [], [], [], []

    def add(self, table, indices, weights, outputs):
        number = len(self.tables)
        self.tables.append(table)
        self.indices.append(indices)
        self.weights.append(ops.stop_gradient(weights))
        self.outputs.append(ops.stop_gradient(outputs))
        return outputs if self.zeros is None else outputs + self.zeros[number]


@contextlib.contextmanager
def tapping(taps):
    """While open, `mixed_rows` holds its tables fixed and tells `taps` what it read."""
    before = getattr(_active, "taps", None)
    _active.taps = taps
    try:
        yield taps
    finally:
        _active.taps = before


def mixed_rows(table, indices, weights):
    """`o_t = sum_j weights[t, j] table[indices[t, j]]`: a table `(table_rows, units)`,
    `(positions, rows)` -> `(positions, units)` in the table's dtype.

    The table is never copied or cast as a whole, and neither is its gradient, if the optimizer agrees
    (`zoo.training.RowAdam`).
    """
    taps = getattr(_active, "taps", None)
    whole = table.value if taps is None else ops.stop_gradient(table.value)
    rows = ops.take(whole, indices, axis=0)
    outputs = ops.sum(ops.cast(weights, rows.dtype)[..., None] * rows, axis=-2)
    return outputs if taps is None else taps.add(table, indices, weights, outputs)
