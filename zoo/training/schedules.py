"""Learning rates that rise linearly to a peak and then fall.

Steps are counted from 1 (Keras counts from 0), so that the first update already moves the weights.
"""

import math

import keras
from keras import ops

from zoo.core.registry import register


class Warmup(keras.optimizers.schedules.LearningRateSchedule):
    """lr(t) = peak * min(1, t / warmup) * fall(t). In this base class fall(t) = 1, so the rate stays at its peak.

    Args:
        peak: the highest learning rate.
        warmup: steps until the peak is reached; with 0 the first step has the peak.
    """

    def __init__(self, peak, warmup=0):
        if peak <= 0 or warmup < 0:
            raise ValueError(f"expected peak > 0 and warmup >= 0, received peak={peak!r}, warmup={warmup!r}.")
        self.peak = peak
        self.warmup = warmup

    def fall(self, step):
        return 1.0

    def __call__(self, step):
        step = ops.cast(step, "float32") + 1.0
        return self.peak * ops.minimum(1.0, step / max(self.warmup, 1)) * self.fall(step)

    def get_config(self):
        return {"peak": self.peak, "warmup": self.warmup}


@register
class ConstantRate(Warmup):
    """lr(t) = peak * min(1, t / warmup)."""


@register
class InverseSquareRoot(Warmup):
    """lr(t) = peak * min(t / warmup, sqrt(warmup / t)).

    Equation 3 of "Attention Is All You Need", d^-0.5 * min(t^-0.5, t * warmup^-1.5), is this schedule with
    peak = (d * warmup)^-0.5: see `noam`.
    """

    @classmethod
    def noam(cls, units, warmup, scale=1.0):
        """The schedule of the paper for a model of width `units`."""
        return cls(scale / math.sqrt(units * warmup), warmup)

    def fall(self, step):
        warmup = float(max(self.warmup, 1))
        return ops.sqrt(warmup / ops.maximum(step, warmup))


def _progress(step, warmup, steps):
    """The progress of the decay: 0 at the end of the warm-up, 1 at `steps` and afterwards."""
    return ops.clip((step - warmup) / (steps - warmup), 0.0, 1.0)


class Decay:
    """A mixin, before `Warmup`, of rates that fall from the end of the warm-up until `steps`.

    Args:
        peak, warmup: as of `Warmup`.
        steps: the step at which the decay ends.
        floor: the fraction of the peak that remains at the end.
    """

    def __init__(self, peak: float, warmup: int = 0, steps: int = 10_000, floor: float = 0.0) -> None:
        super().__init__(peak, warmup)
        if steps <= warmup or not 0.0 <= floor <= 1.0:
            raise ValueError(
                f"expected steps > warmup and 0 <= floor <= 1, received steps={steps!r}, "
                f"warmup={warmup!r}, floor={floor!r}. Shorten the warm-up or train for longer."
            )
        self.steps, self.floor = steps, floor


@register
class LinearDecay(Decay, Warmup):
    """lr(t) = peak * (1 - (1 - floor) * u), u = (t - warmup) / (steps - warmup), after the warm-up.

    Args: as of `Decay`.
    """

    def fall(self, step):
        return 1.0 - (1.0 - self.floor) * _progress(step, self.warmup, self.steps)


@register
class CosineDecay(Decay, Warmup):
    """lr(t) = peak * (floor + (1 - floor) * (1 + cos(pi * u)) / 2), u as in `LinearDecay`.

    Args: as of `Decay`.

    Loshchilov and Hutter 2017, "SGDR", without restarts.
    """

    def fall(self, step):
        wave = 0.5 * (1.0 + ops.cos(math.pi * _progress(step, self.warmup, self.steps)))
        return self.floor + (1.0 - self.floor) * wave


SCHEDULES = {"constant": ConstantRate, "inverse_sqrt": InverseSquareRoot, "linear": LinearDecay, "cosine": CosineDecay}


def schedule(name, peak, warmup, steps):
    """The schedule called `name`: "constant", "inverse_sqrt", "linear" or "cosine".

    Raises:
        ValueError: `name` is none of these, or the numbers do not fit together.
    """
    if name not in SCHEDULES:
        raise ValueError(f"unknown schedule {name!r}; expected {', '.join(SCHEDULES)}.")
    own = (steps,) if issubclass(SCHEDULES[name], Decay) else ()
    return SCHEDULES[name](peak, warmup, *own)
