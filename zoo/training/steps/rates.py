"""Learning rates of single weights, as factors of the rate of all."""

from typing import Any

import keras
from keras import ops

from zoo.core.registry import register


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
