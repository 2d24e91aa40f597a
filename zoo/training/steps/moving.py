"""The moving average of the weights that an optimizer keeps (`use_ema`), lent to the model for a validation."""

import contextlib

import keras
from keras import ops


@contextlib.contextmanager
def averaged(steps):
    """A context in which the model has the moving averages of its weights, if its optimizer keeps them.

    `a_1 = w_1` after the first update, then `a_t = d a_{t-1} + (1 - d) w_t` with the optimizer's `ema_momentum` d. When
    the context ends, the model has the weights of the last update again, bit for bit.

    Args:
        steps: of `zoo.training.make_steps`.
    """
    pairs = _pairs(steps)
    if not pairs:
        yield
        return
    kept = [ops.copy(weight.value) for weight, _ in pairs]
    for weight, average in pairs:
        weight.assign(average.value)
    steps.reload()
    try:
        yield
    finally:
        for (weight, _), value in zip(pairs, kept, strict=True):
            weight.assign(value)
        steps.reload()


def _pairs(steps):
    """`(weight, its average)`, with the values of the last update; none before the first one."""
    optimizer = steps.optimizer
    if isinstance(optimizer, keras.optimizers.LossScaleOptimizer):
        optimizer = optimizer.inner_optimizer
    if not optimizer.use_ema:
        return []
    steps.sync()
    if not int(optimizer.iterations):
        return []
    averages = optimizer._model_variables_moving_average
    pairs = zip(steps.model.trainable_variables, averages, strict=True)
    return [pair for pair in pairs if pair[1] is not None]
