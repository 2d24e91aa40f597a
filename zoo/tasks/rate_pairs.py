"""A number for two texts: how similar they are, how well one answers the other."""

from zoo.data import PairBatches
from zoo.tasks.parts.task import Pairs, building, zoo_models
from zoo.tasks.rate import Rate


class RatePairs(Pairs, Rate):
    """A pair of texts to a number, by a `PairClassifier` with one output; scored as `rate` is."""

    name = "rate_pairs"
    kind = "scored"

    def batches_of(self, words, numbers, **plan):
        """One number for each pair."""
        return PairBatches(words, numbers, **plan)

    def model(self, recipe, *sizes):
        """A `PairClassifier` with one output."""
        return building.make_reader(zoo_models.PairClassifier, recipe, *sizes, 1)


TASK = RatePairs()
