"""One label for two texts: paraphrase, entailment, duplicates."""

from zoo.settings.data import DatePairs, Files
from zoo.settings.text import Read
from zoo.tasks.parts.labelling import Labelling
from zoo.tasks.parts.task import Pairs


class Compare(Pairs, Labelling):
    """A pair of texts to one of its labels, by a `PairClassifier`; scored by accuracy and macro F1."""

    name = "compare"
    kind = "compared"
    rating = "rate_pairs"
    data = (Files, DatePairs)
    text = Read

    def changes(self, recipe, tokenizer, inputs):
        """None: pairs are read as they are."""
        return {}

    def choose_scoring(self, recipe, references):
        """Accuracy and macro F1."""
        return "classification", {}


TASK = Compare()
