"""A number for two texts: how similar they are, how well one answers the other."""

from zoo.tasks.parts.task import Pairs
from zoo.tasks.rate import Rate


class RatePairs(Pairs, Rate):
    """A pair of texts to a number, by a `PairClassifier` with one output; scored as `rate` is."""

    name = "rate_pairs"
    kind = "scored"


TASK = RatePairs()
