"""Texts and pairs of texts that get a label, and words that get tags."""

from serving.errors import DamagedError
from serving.loaded import batches, listed, padded
from serving.pairs import PLACES, pair
from serving.predictors.results import Label, Mode, Tags, Word
from serving.reading import is_blank, speaks


class Classify:
    """A label for every text; a blank text has a blank one, with probability 0."""

    options = ()

    def __init__(self, loaded):
        self.loaded, self.labels = loaded, loaded.manifest["labels"]

    @property
    def graph(self):
        return self.loaded.graph(self.loaded.manifest["kind"])

    @property
    def modes(self):
        return [Mode(self.loaded.manifest["kind"], self.graph, {})]

    def run(self, texts):
        readings = self.loaded.read(texts)
        spoken = [reading for reading in readings if speaks(reading)]
        found = iter(self.loaded.run_all(self.graph, [reading.ids for reading in spoken]))
        return [
            self._label(next(found)["probabilities"], reading.warning) if speaks(reading) else blank(reading)
            for reading in readings
        ]

    def _check(self, probabilities, expected):
        """Compare the shape of an answer's probabilities with the one that kind and labels ask for."""
        if probabilities.shape != expected:
            raise DamagedError(
                f"{self.loaded.directory} is damaged: by `kind` and `labels` in its manifest, probabilities have the "
                f"shape {expected}; its graph gives {probabilities.shape}. Copy the artefact again, or export it again."
            )

    def _label(self, probabilities, warning=None):
        self._check(probabilities, (len(self.labels),))
        order = (-probabilities).argsort(kind="stable")
        ranked = {self.labels[index]: float(probabilities[index]) for index in order}
        return Label(*next(iter(ranked.items())), ranked, warning=warning)


def blank(reading):
    """The label of a text that holds nothing, or is refused."""
    return Label("", 0.0, {}, error=reading.error, warning=reading.warning)


class Compare(Classify):
    """A label for every pair of texts, "first TAB second"; of two blanks, a blank one."""

    def run(self, texts):
        texts = listed(texts)
        wrong, pairs = {}, {}
        for number, text in enumerate(texts):
            try:
                pairs[number] = pair(text)
            except ValueError as error:
                if not is_blank(text):
                    wrong[number] = str(error)
        sides = [self.loaded.read([both[side] for both in pairs.values()]) for side in (0, 1)]
        results = [Label("", 0.0, {}, error=wrong.get(number)) for number in range(len(texts))]
        spoken = {}
        for number, *both in zip(pairs, *sides, strict=True):
            said = either([each.error for each in both]), either([each.warning for each in both])
            if said[0] or not any(map(speaks, both)):
                results[number] = Label("", 0.0, {}, error=said[0], warning=said[1])
            else:
                spoken[number] = [each.ids for each in both], said[1]
        for number, probabilities in self._rows({number: ids for number, (ids, _) in spoken.items()}):
            results[number] = self._label(probabilities, spoken[number][1])
        return results

    def _rows(self, sides):
        """`(number, probabilities)` of pairs of ids by their number."""
        numbers = list(sides)
        for group in batches([max(map(len, both)) for both in sides.values()]):
            group, inputs = [numbers[place] for place in group], {}
            for index, name in enumerate(("first", "second")):
                inputs[f"{name}_ids"], inputs[f"{name}_lengths"] = padded([sides[number][index] for number in group])
            yield from zip(group, self.loaded.run(self.graph, inputs)["probabilities"], strict=True)


def either(said):
    """What is said of the first text, or else of the second, with the text it is said of."""
    return next((place + part for place, part in zip(PLACES, said, strict=True) if part), None)


class Tag(Classify):
    """A tag for every word of every text; each word is encoded by itself, and its first piece decides."""

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
        chosen = probabilities[list(reading.first)]
        return tuple(
            Word(text[start:end], self.labels[best], start, end, float(row[best]))
            for (start, end), row, best in zip(reading.places, chosen, chosen.argmax(axis=-1).tolist(), strict=True)
        )
