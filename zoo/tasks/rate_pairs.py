"""A number for two texts: how similar they are, how well one answers the other."""

from zoo.data import PairBatches
from zoo.tasks.parts.task import building, zoo_models
from zoo.tasks.rate import Rate


class RatePairs(Rate):
    """A pair of texts to a number, by a `PairClassifier` with one output; scored as `rate` is."""

    name = "rate_pairs"
    kind = "scored"

    def texts(self, inputs, answers):
        """Those of both sides."""
        return ([text for pair in inputs for text in pair],)

    def encode(self, recipe, tokenizer, inputs):
        """The words of the first and of the second text of each pair, and how many texts were cut."""
        sides = [super(RatePairs, self).encode(recipe, tokenizer, side) for side in zip(*inputs, strict=True)]
        return list(zip(*(words for words, _ in sides), strict=True)), sum(cut for _, cut in sides)

    def batches_of(self, words, numbers, **plan):
        """One number for each pair."""
        return PairBatches(words, numbers, **plan)

    def model(self, recipe, *sizes):
        """A `PairClassifier` with one output."""
        return building.reader(zoo_models.PairClassifier, recipe, *sizes, 1)


TASK = RatePairs()
