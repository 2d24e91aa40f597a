"""Means over the positions of a batch that layers add to the loss, where the batch comes in parts.

A mean over the positions of a part is no equal share of the mean over the batch, because parts have other numbers of
positions. So a training in parts first has the layers count (`counting`), which computes nothing else, and then has
them divide by the count of the batch (`dividing`). Without either, `mean_over` is the mean.
"""

import contextlib

from keras import ops

from zoo.gradients.ambient import Ambient
from zoo.gradients.recompute import recall

_open = Ambient()  # the `_Means`, if any


class _Means:
    def __init__(self, totals=None, parts=1):
        self.counts, self.totals, self.parts = [], totals, parts

    def divisor(self, count):
        """By what the sum of a part is divided: the mean of the parts is then the mean of the batch."""
        number = recall(lambda: self._add(count))  # of this mean, where its pass is computed again, too
        return ops.maximum(count, 1.0) if self.totals is None else ops.maximum(self.totals[number], 1.0) / self.parts

    def _add(self, count):
        self.counts.append(count)
        return len(self.counts) - 1


@contextlib.contextmanager
def counting():
    """A context that yields a list, to which each mean adds the number of its positions."""
    with _open.holding(_Means()) as means:
        yield means.counts


def is_counting():
    """Whether nothing but counts is asked for, so that no pass need be one that can be computed again."""
    return _open.value is not None and _open.value.totals is None


def dividing(totals, parts):
    """A context in which the sums of a part are divided by the counts of the batch, over the number of parts.

    Args:
        totals: the counts of all parts together, in the order of the means; None leaves means what they are.
        parts: how many there are.
    """
    return contextlib.nullcontext() if totals is None else _open.holding(_Means(totals, parts))


def mean_over(values, mask=None):
    """The mean of `values (batch, time)`, float32, over the positions that the mask keeps; None keeps all."""
    if _open.value is None and mask is None:
        return ops.mean(values)
    kept = ops.ones_like(values) if mask is None else ops.cast(mask, values.dtype)
    count = ops.sum(kept)
    divisor = ops.maximum(count, 1.0) if _open.value is None else _open.value.divisor(count)
    return ops.sum(values * kept) / divisor
