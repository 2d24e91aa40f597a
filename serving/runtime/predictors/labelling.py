"""Predictors of labels for texts and pairs of texts, and of tags for words."""

import functools

from serving.runtime.errors import DamagedError
from serving.runtime.lazy import later
from serving.runtime.loaded import batches, padded
from serving.runtime.pairs import PLACES, pair
from serving.runtime.predictors.results import Label, Mode, Tags, Word
from serving.runtime.reading import is_answered, is_blank, listed

tags_of = later("zoo.scores.transitions")


class Classify:
    """Predicts a label for each text. A blank text has the label "" with probability 0.

    With `scope` in the manifest, a text whose likeliest label is less likely than the threshold has the label of texts
    out of scope; its probability is that of the likeliest label.
    """

    options = ()
    beams = ()  # it does not search

    def __init__(self, loaded):
        self.loaded, self.labels = loaded, loaded.manifest["labels"]
        self.scope = loaded.manifest.get("scope")

    @property
    def graph(self):
        return self.loaded.graph(self.loaded.manifest["kind"])

    @property
    def modes(self):
        return [Mode(self.loaded.manifest["kind"], self.graph, {})]

    def run(self, texts):
        readings = self.loaded.read(texts)
        answered = [reading for reading in readings if is_answered(reading)]
        found = iter(self.loaded.run_all(self.graph, [reading.ids for reading in answered]))
        return [
            self._label(next(found)["probabilities"], reading.warning) if is_answered(reading) else blank(reading)
            for reading in readings
        ]

    def _check(self, probabilities, expected):
        """Check that the probabilities have the shape that the kind and the labels imply."""
        if probabilities.shape != expected:
            raise DamagedError(
                f"{self.loaded.directory} is damaged: by `kind` and `labels` in its manifest, probabilities have the "
                f"shape {expected}; its graph gives {probabilities.shape}. Copy the artefact again, or export it again."
            )

    def _label(self, probabilities, warning=None):
        self._check(probabilities, (len(self.labels),))
        order = (-probabilities).argsort(kind="stable")
        ranked = {self.labels[index]: float(probabilities[index]) for index in order}
        label, probability = next(iter(ranked.items()))
        if self.scope and probabilities.max() < self.scope["threshold"]:
            label = self.scope["label"]
        return Label(label, probability, ranked, warning=warning)


def blank(reading):
    """The label of a text that is blank or refused."""
    return Label("", 0.0, {}, error=reading.error, warning=reading.warning)


class Compare(Classify):
    """Predicts a label for each pair of texts, "first TAB second" or `(first, second)`.

    A pair of blank texts has a blank label.
    """

    def run(self, texts):
        given = {} if isinstance(texts, str) else dict(enumerate(texts))
        pairs = {number: tuple(listed(text)) for number, text in given.items() if isinstance(text, tuple)}
        texts = listed(["" if number in pairs else text for number, text in given.items()] if given else texts)
        wrong = {}
        for number in given.keys() - pairs.keys():
            text = texts[number]
            try:
                pairs[number] = pair(text)
            except ValueError as error:
                if not is_blank(text):
                    wrong[number] = str(error)
        sides = [self.loaded.read([both[side] for both in pairs.values()]) for side in (0, 1)]
        results = [Label("", 0.0, {}, error=wrong.get(number)) for number in range(len(texts))]
        answered = {}
        for number, *both in zip(pairs, *sides, strict=True):
            error, warning = either([each.error for each in both]), either([each.warning for each in both])
            if error or not any(map(is_answered, both)):
                results[number] = Label("", 0.0, {}, error=error, warning=warning)
            else:
                answered[number] = [each.ids for each in both], warning
        for number, probabilities in self._rows({number: ids for number, (ids, _) in answered.items()}):
            results[number] = self._label(probabilities, answered[number][1])
        return results

    def _rows(self, sides):
        """`(number, probabilities)` of each pair of ids in `sides`, a dict by number."""
        numbers = list(sides)
        for group in batches([max(map(len, both)) for both in sides.values()]):
            group, inputs = [numbers[place] for place in group], {}
            for index, name in enumerate(("first", "second")):
                inputs[f"{name}_ids"], inputs[f"{name}_lengths"] = padded([sides[number][index] for number in group])
            yield from zip(group, self.loaded.run(self.graph, inputs)["probabilities"], strict=True)


def either(messages):
    """The error or warning of the first text, or else of the second, with the name of the text before it."""
    return next((place + part for place, part in zip(PLACES, messages, strict=True) if part), None)


class Tag(Classify):
    """Predicts a tag for each word. Words are encoded separately, and the tag is that of a word's first piece.

    Where the tags spell entities, the likeliest sequence of those that may follow each other is the answer.
    """

    @functools.cached_property
    def allowed(self):
        """Which tag may follow which, see `zoo.scores.transitions`."""
        return tags_of.transitions(self.labels)

    def run(self, texts):
        texts = listed(texts)
        readings = self.loaded.read_words(texts)
        found = iter(self.loaded.run_all(self.graph, [reading.ids for reading in readings if reading.places]))
        return [
            Tags(
                self._words(text, reading, next(found)["probabilities"]) if reading.places else (),
                error=reading.error,
                warning=reading.warning,
            )
            for text, reading in zip(texts, readings, strict=True)
        ]

    def _words(self, text, reading, probabilities):
        self._check(probabilities, (*probabilities.shape[:1], len(self.labels)))
        found = tags_of.likeliest_tags(probabilities[list(reading.first)], self.allowed)
        return tuple(
            Word(text[start:end], self.labels[best], start, end, float(probability))
            for (start, end), best, probability in zip(reading.places, *found, strict=True)
        )
