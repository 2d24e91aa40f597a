"""Tables of which a step reads only a few rows, so that their gradient has only a few rows, too.

`mixed_rows` reads them. On TensorFlow the gradient of a gather consists of the rows that were read. On JAX it is as
large as the table. There a training step opens `tapping`, which holds the table fixed and adds zeros to the outputs
`o_t = sum_j w_tj V[i_tj]`; the gradient of the zeros is the gradient `g_t` of the outputs. `(i, w, g)` is then the
gradient of `V` in factors: `dV[i] = sum of w_tj g_t over i_tj = i`.
"""

from keras import ops

from zoo.core.masks import wide
from zoo.gradients.ambient import Ambient

_taps = Ambient()  # the `Taps` that are open, if any


class Taps:
    """What the lookups of one pass read: tables, indices and weights `(positions, rows)`; and zeros they add.

    Args:
        zeros: one for each lookup, `(positions, units)`; None while their shapes are not known yet (those of
            `outputs`).
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


def tapping(taps):
    """While open, `mixed_rows` holds its tables fixed and records in `taps` what it reads."""
    return _taps.holding(taps)


def mixed_rows(table, indices, weights):
    """`o_t = sum_j weights[t, j] table[indices[t, j]]`: a table `(table_rows, units)`,
    `(positions, rows)` -> `(positions, units)` in the table's dtype.

    The table is never copied or cast as a whole, and neither is its gradient, if the optimizer agrees
    (`zoo.training.RowAdam`).
    """
    taps = _taps.value
    whole = table.value if taps is None else ops.stop_gradient(table.value)
    rows = ops.take(whole, indices, axis=0)
    outputs = ops.cast(ops.sum(wide(ops.cast(weights, rows.dtype)[..., None] * rows), axis=-2), rows.dtype)
    return outputs if taps is None else taps.add(table, indices, weights, outputs)
