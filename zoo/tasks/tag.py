"""One label for every word: parts of speech, names."""

from collections import Counter

import numpy as np

from zoo.data import TaggedBatches
from zoo.scores.confidence import softmax
from zoo.scores.labels import UNREAD, choose_rules, tagging
from zoo.scores.transitions import likeliest_tags, transitions
from zoo.settings.data import Files, Tagged
from zoo.settings.slots import TAGS
from zoo.settings.text import Cut
from zoo.settings.training import LabelLoss
from zoo.tasks.parts.labelling import Labelling
from zoo.tasks.parts.task import Run, answering, building, readers, with_lstm, zoo_models
from zoo.text.words import choose_rule

ENOUGH = 50  # sentences with an entity that are needed to choose weights, or the balance, by their F1
UNSEEN = 0.01  # the share of new words from which on reading their spelling is worth it
OUTSIDE = "O"  # the tag of a word that belongs to no entity
BALANCES = tuple(step / 2 for step in range(-8, 3))  # what may be added to the logit of that tag


class Tag(Labelling):
    """The words of a sentence to their tags, both joined by one space; scored by accuracy and entity F1.

    An artefact is asked plain texts, which the rule `text.words` cuts; the words of examples are given.
    """

    name = "tag"
    kind = "tagged"
    data = (Files, Tagged)
    text = Cut
    models = readers(LabelLoss, TAGS)

    def words(self, tokenizer, text):
        """What one space separates; each has at least one token."""
        return tokenizer.encode_words(text.split(" "))

    def split(self, answer):
        """A tag for each word."""
        return answer.split(" ")

    def batches_of(self, words, ids, **plan):
        """One label for each word that is read."""
        return TaggedBatches(words, [tags[: len(each)] for each, tags in zip(words, ids, strict=True)], **plan)

    def transitions(self, labels):
        """Those of IOB2 or IOBES where the tags are of such a scheme."""
        return transitions(labels)

    def make_monitor(self, recipe, model, tokenizers, labels, examples):
        """The F1 of the entities, if that is what decides.

        Raises:
            ValueError: the tags of the validation spell no entities.
        """
        if recipe.training.monitor != "entity_f1":
            return None
        texts, references = examples
        right = tagging(references, references, resamples=1)
        if "entity_f1" not in right:
            why = right.get("missing", {}).get("entity_f1", "tags such as parts of speech are of no entity")
            raise ValueError(
                f'training.monitor = "entity_f1" needs tags that spell entities, and those of the validation spell '
                f'none: {why}. Take training.monitor = "accuracy".'
            )
        run = Run(recipe, model, tokenizers, labels)
        compiled = answering.compile_labels(model, self.transitions(labels) is not None)

        def score():
            answers, *_ = super(Tag, self).predict(run, texts, compiled=compiled)
            return {"entity_f1": tagging(pad_tags(texts, answers), references, resamples=1)["entity_f1"]}

        return score

    def balance(self, run, texts):
        """Lower or raise the logit of O so that the entities of the validation have the best F1, if that decides.

        A tagger that has seen few entities answers O where it is in doubt. This is right for accuracy, but it finds few
        entities: its precision is far above its recall. The best F1 needs another threshold, see Lipton et al. (2014),
        "Optimal Thresholding of Classifiers to Maximize F1 Measure". What is added is one of `BALANCES`: the one with
        the highest mean F1 of itself and its neighbours, because F1 on a small validation split is noisy.
        """
        no_change = super().balance(run, texts)
        if run.recipe.training.monitor != "entity_f1" or OUTSIDE not in run.labels:
            return no_change
        names, allowed = np.array(run.labels), self.transitions(run.labels)
        right = [" ".join(names[labels]) for _, labels in texts]
        outside = names == OUTSIDE
        if sum(not outside[labels].all() for _, labels in texts) < ENOUGH:
            return no_change

        def measure(balance):
            tags = (likeliest_tags(softmax(logits + balance * outside), allowed)[0] for logits, _ in texts)
            return tagging([" ".join(names[ids]) for ids in tags], right, resamples=1)["entity_f1"]

        scores = [measure(balance) for balance in BALANCES]
        means = [np.mean(scores[max(0, at - 1) : at + 2]) for at in range(len(scores))]
        best, before = int(np.argmax(means)), scores[BALANCES.index(0.0)]
        if scores[best] <= before:
            return no_change
        record = {"label": OUTSIDE, "added": BALANCES[best], "entity_f1": scores[best], "entity_f1_before": before}
        return np.float32(BALANCES[best]) * outside, {"balance": record}

    def starter(self, examples, kind=None):
        """A bidirectional LSTM that reads the spelling, where new texts will have words that nobody has seen.

        Where the training has all words, or somebody has chosen it, a small Transformer. The best weights are those
        with the best entities, if the tags spell any.
        """
        settings = super().starter(examples)
        if kind == "recurrent" or kind is None and _unseen_share(examples) >= UNSEEN:
            # A word that few sentences have is learnt with those that are spelt alike, if training hides its own vector
            # now and then.
            settings = with_lstm(settings) | {"embedding": {"layer": "spelled", "alone": 0.3}}
            settings["text"] = {"noise": {"candidates": 6, "rare": 3, "dropout": 0.02}}
        answers = [answer.split(" ") for answer in examples.answers]
        rules, _ = choose_rules(answers, answers)
        if rules and sum(any(tag != OUTSIDE for tag in tags) for tags in answers) >= ENOUGH:
            settings |= {"training": settings["training"] | {"monitor": "entity_f1"}}
        return settings | {"text": settings.get("text", {}) | {"words": choose_rule(_words(examples))[0]}}

    def notes(self, examples):
        """Why this rule cuts texts into words, and whether their spelling is read."""
        rule, shares = choose_rule(_words(examples))
        percentages = ", ".join(f"{name} {100 * share:.1f} %" for name, share in shares.items())
        unseen = _unseen_share(examples)
        spelling = ", which a recurrent tagger begun with nothing reads by spelling" if unseen >= UNSEEN else ""
        return [
            f'words = "{rule}": of the words of the training, written as people write them, {percentages} are found '
            "again",
            f"{100 * unseen:.1f} % of the words of the training are there once, and about as many of others will be new"
            f"{spelling}",
        ]

    def predict(self, run, texts, progress=None, compiled=None):
        """As of its base: the tags of each text's words; a word that is not read has the tag "_"."""
        tags, confidences, cut = super().predict(run, texts, progress, compiled)
        return (pad_tags(texts, tags) if cut else tags), confidences, cut

    def reliability(self, outputs, references, confidences):
        """Nothing: the confidence of an answer is that of one of its tags."""
        return {}

    def respond(self, recipe, runtime, inputs, references):
        """The tags of each text's words; a word that is not read, or of a text that is refused, has the tag "_"."""
        results = runtime.run(self.lines(inputs), words="spaces")  # which the words of examples are joined by
        return pad_tags(inputs, self.read_outputs([result.answer for result in results]))

    def choose_scoring(self, recipe, references):
        """Accuracy, and F1 of the entities where the tags spell any."""
        return "tagging", {}

    def lengths(self, recipe, inputs):
        """Words of the sentences."""
        return [len(text.split(" ")) for text in inputs]

    def model(self, recipe, *sizes):
        """A `Tagger`."""
        return building.make_reader(zoo_models.Tagger, recipe, *sizes, summary=False)


def _words(examples):
    return [text.split(" ") for text in examples.inputs]


def _unseen_share(examples):
    """The share of words in new texts that training lacks, estimated by that of words it has once (Good and Turing)."""
    counts = Counter(word for words in _words(examples) for word in words)
    return sum(count == 1 for count in counts.values()) / counts.total()


def pad_tags(texts, tags):
    """The tags of each text, joined by spaces, with "_" for each word that has none."""
    rows = [answer.split(" ") if answer else [] for answer in tags]
    return [
        " ".join([*row, *[UNREAD] * (len(text.split(" ")) - len(row))]) for text, row in zip(texts, rows, strict=True)
    ]


TASK = Tag()
