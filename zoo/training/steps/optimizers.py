"""Adam with learning rates of single weights, and one that updates only those rows of a table that a step has read."""

from typing import Any

import keras
from keras import ops

from zoo.core.later import later
from zoo.core.protocols import Weight
from zoo.core.registry import register

tf = later("tensorflow")


class RowGradient:
    """The gradient of a table from factors: `dV[i]` is the sum of `weights[t, j] * upstream[t]` over all `t, j` with
    `indices[t, j] = i`. Like TensorFlow's `IndexedSlices` it has `indices (n,)`, where a row's number occurs as often
    as the row was read, and `values (n, units)`.

    Args:
        indices, weights: `(positions, rows)`.
        upstream: `(positions, units)`.
    """

    def __init__(self, indices, weights, upstream):
        rows = weights[..., None] * upstream[..., None, :]
        self.indices, self.values = ops.reshape(indices, (-1,)), ops.reshape(rows, (-1, rows.shape[-1]))


def row_gradients(variables, gradients, tables, indices, weights, upstream):
    """The gradients of all variables; those of tables that were tapped (`zoo.gradients.rows`) are `RowGradient`s."""
    by_table = {}
    for table, *factors in zip(tables, indices, weights, upstream, strict=True):
        by_table.setdefault(id(table), []).append(factors)
    merged = {
        key: RowGradient(*(ops.concatenate(parts, axis=0) for parts in zip(*each, strict=True)))
        for key, each in by_table.items()
    }
    return [merged.get(id(variable), whole) for variable, whole in zip(variables, gradients, strict=True)]


def sum_by_slot(slots, gradients):
    """`(slots, gradients)` sorted by slot; every occurrence of a slot has the sum of all gradients of this slot."""
    order = ops.argsort(slots)
    slots, gradients = ops.take(slots, order), ops.take(gradients, order, axis=0)
    new = ops.concatenate([ops.zeros((1,), "int32"), ops.cast(slots[1:] != slots[:-1], "int32")])
    groups = ops.cumsum(new)
    sums = ops.segment_sum(gradients, groups, num_segments=ops.shape(gradients)[0])
    return slots, ops.take(sums, groups, axis=0)


def write_rows(variable, slots, rows):
    """Set rows of a variable in place. A slot may occur several times, with equal rows."""
    if keras.backend.backend() == "tensorflow":
        variable.value.scatter_update(tf.IndexedSlices(rows, slots))
    else:
        variable.assign(variable.value.at[slots].set(rows, indices_are_sorted=True))


class RateFactors:
    """A mixin, before a Keras optimizer: the learning rate of a weight is that of the optimizer times a factor.

    The factor multiplies the rate wherever the optimizer reads it, in the update and in the weight decay. Moments and
    clipping see the gradient as it is.
    """

    _factors = ()

    def set_factors(self, factors):
        """Give the factors, `{id of a trainable weight: factor}`, once the optimizer is built; others have 1."""
        self._factors = tuple(float(factors.get(id(each), 1.0)) for each in self._trainable_variables)

    def factor(self, variable):
        """The factor of a weight."""
        return self._factors[self._get_variable_index(variable)] if self._factors else 1.0

    def update_step(self, gradient, variable, learning_rate):
        factor = self.factor(variable)
        super().update_step(gradient, variable, learning_rate if factor == 1.0 else learning_rate * factor)

    def _apply_weight_decay(self, variables):
        if not self._factors:
            super()._apply_weight_decay(variables)
            return
        for variable in variables if self.weight_decay is not None else ():
            if self._use_weight_decay(variable):
                share = self.weight_decay * self.factor(variable) * ops.cast(self.learning_rate, variable.dtype)
                variable.assign(variable - variable * share)


@register
class FactorAdam(RateFactors, keras.optimizers.Adam):
    """Adam, where `set_factors` may give weights learning rates of their own, as fine-tuning asks for.

    Args:
        learning_rate: the rate of the weights whose factor is 1, a number or a schedule.
        **kwargs: as of `keras.optimizers.Adam`.

    Example:
        >>> import keras
        >>> from zoo.training import FactorAdam
        >>> weight, optimizer = keras.Variable([1.0]), FactorAdam(0.1)
        >>> optimizer.build([weight])
        >>> optimizer.set_factors({id(weight): 0.5})
        >>> optimizer.apply([keras.ops.ones(1)], [weight])
        >>> round(float(weight.value[0]), 4)
        0.95

    Reference: discriminative fine-tuning, https://arxiv.org/abs/1801.06146, section 3.2.
    """

    def __init__(self, learning_rate: float = 1e-3, **kwargs: Any) -> None:
        super().__init__(learning_rate, **kwargs)


@register
class RowAdam(RateFactors, keras.optimizers.Adam):
    """Adam; for variables that declare `row_updates` (tables) lazy Adam, with the constant rate `row_learning_rate`.

    For a row `i` that the step has read, with its gradient `g`: `m_i <- b1 m_i + (1 - b1) g`, `v_i <- b2 v_i + (1 - b2)
    g^2`, `V_i <- V_i - rate sqrt(1 - b2^t) / (1 - b1^t) m_i / (sqrt(v_i) + eps)`. Rows that were not read do not
    change: neither momentum nor weight decay applies to them, unlike in Adam. Time and memory of an update are
    proportional to the number of rows read, not to the size of the table; the state (`m` and `v`) is as large as the
    table. `model.fit` on JAX computes a dense gradient of the table: then the rows whose gradient is not zero are
    updated, at a cost proportional to the whole table, and a row that only padding has read does not change.

    Clipping by the global norm includes only the gradients of the other variables; rows of a table are not clipped.

    Args:
        learning_rate: the rate of all other variables, a number or a schedule.
        row_learning_rate: the rate of the tables. The paper's is constant, 1e-3, four times that of the keys.
        **kwargs: as of `keras.optimizers.Adam`.

    Raises:
        ValueError: `row_learning_rate` is not positive.

    Example:
        >>> from zoo.training import RowAdam
        >>> RowAdam(2.5e-4, row_learning_rate=1e-3, beta_2=0.98).row_learning_rate
        0.001

    Reference: https://arxiv.org/abs/1907.05242, section 4.2 ("sparse updates").
    """

    def __init__(self, learning_rate: float = 2.5e-4, row_learning_rate: float = 1e-3, **kwargs: Any) -> None:
        if not row_learning_rate > 0:
            raise ValueError(f"RowAdam needs a positive row_learning_rate. Received: {row_learning_rate!r}.")
        super().__init__(learning_rate, **kwargs)
        self.row_learning_rate = row_learning_rate

    def apply(self, grads, trainable_variables=None):
        variables = list(self._trainable_variables if trainable_variables is None else trainable_variables)
        if not self.built:
            self.build(variables)
        tables = [
            grad is not None and Weight.of(variable).row_updates
            for grad, variable in zip(grads, variables, strict=True)
        ]
        for grad, variable, table in zip(grads, variables, tables, strict=True):
            if table and type(grad).__name__ in ("RowGradient", "IndexedSlices"):
                self._update_rows(variable, *sum_by_slot(grad.indices, grad.values))
            elif table:
                self._update_whole(variable, grad)
        rest = [(grad, variable) for grad, variable, table in zip(grads, variables, tables, strict=True) if not table]
        super().apply([densify(grad) for grad, _ in rest], [variable for _, variable in rest])

    def _update_model_variables_moving_average(self, _):
        """Averages the tables, too, which `apply` does not pass on."""
        super()._update_model_variables_moving_average(self._trainable_variables)

    def _update_rows(self, table, slots, gradients):
        variables = self._state_of(table)
        before = [_gather_rows(variable, slots) for variable in variables]
        rate = self.row_learning_rate * self.factor(table)
        for variable, rows in zip(variables, self._adam_step(*before, gradients, rate), strict=True):
            write_rows(variable, slots, rows)

    def _update_whole(self, table, gradient):
        """The same for a dense gradient: the rows that were read are those whose gradient is not zero."""
        variables, was_read = self._state_of(table), ops.any(gradient != 0, axis=-1, keepdims=True)
        before = [ops.convert_to_tensor(variable) for variable in variables]
        rate = self.row_learning_rate * self.factor(table)
        for variable, old, new in zip(variables, before, self._adam_step(*before, gradient, rate), strict=True):
            variable.assign(ops.where(was_read, new, old))

    def _state_of(self, table):
        """`m`, `v` and the table itself."""
        index = self._get_variable_index(table)
        return self._momentums[index], self._velocities[index], table

    def _adam_step(self, m, v, rows, gradients, rate):
        """The rows of `m`, `v` and the table after a step of Adam."""
        step = ops.cast(self.iterations + 1, "float32")
        rate = rate * ops.sqrt(1 - self.beta_2**step) / (1 - self.beta_1**step)
        m = self.beta_1 * m + (1 - self.beta_1) * gradients
        v = self.beta_2 * v + (1 - self.beta_2) * ops.square(gradients)
        return m, v, rows - rate * m / (ops.sqrt(v) + self.epsilon)


def densify(gradient):
    """The gradient as a dense tensor.

    In `IndexedSlices`, the gradient of a gather, a row that was read twice has two entries. Keras' Adam would square
    each entry, but the square of their sum is needed.
    """
    return tf.convert_to_tensor(gradient) if type(gradient).__name__ == "IndexedSlices" else gradient


def _gather_rows(variable, slots):
    """Some rows of a variable; on TensorFlow without reading the whole variable first."""
    if keras.backend.backend() == "tensorflow":
        return tf.gather(variable.value, slots)
    return ops.take(variable.value, slots, axis=0)
