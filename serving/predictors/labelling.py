"""Texts and pairs of texts that get a label, and words that get tags."""

from serving.errors import DamagedError
from serving.loaded import batches, listed, padded
from serving.pairs import pair
from serving.predictors.results import Label, Mode, Tags, Word
from serving.words import words


class Classify:
    """A label for every text."""

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
        sequences = [[*ids, *self.loaded.end] for ids in self.loaded.encode(texts)]
        return [self._label(row["probabilities"]) for row in self.loaded.run_all(self.graph, sequences)]

    def _check(self, probabilities, expected):
        """Compare the shape of an answer's probabilities with the one that kind and labels ask for."""
        if probabilities.shape != expected:
            raise DamagedError(
                f"{self.loaded.directory} is damaged: by `kind` and `labels` in its manifest, probabilities have the "
                f"shape {expected}; its graph gives {probabilities.shape}. Copy the artefact again, or export it again."
            )

    def _label(self, probabilities):
        self._check(probabilities, (len(self.labels),))
        order = (-probabilities).argsort(kind="stable")
        ranked = {self.labels[index]: float(probabilities[index]) for index in order}
        return Label(*next(iter(ranked.items())), ranked)


class Compare(Classify):
    """A label for every pair of texts, "first TAB second"."""

    def run(self, texts):
        pairs = [pair(text) for text in listed(texts)]
        sides = [[[*ids, *self.loaded.end] for ids in self.loaded.encode(side)] for side in zip(*pairs, strict=True)]
        results = [None] * len(pairs)
        for group in batches([max(map(len, both)) for both in zip(*sides, strict=True)]):
            inputs = {}
            for name, side in zip(("first", "second"), sides, strict=True):
                inputs[f"{name}_ids"], inputs[f"{name}_lengths"] = padded([side[row] for row in group])
            found = self.loaded.run(self.graph, inputs)["probabilities"]
            for row, probabilities in zip(group, found, strict=True):
                results[row] = self._label(probabilities)
        return results


class Tag(Classify):
    """A tag for every word of every text; each word is encoded by itself, and its first piece decides."""

    def run(self, texts):
        texts = listed(texts)
        places = [words(text) for text in texts]
        spoken = [number for number, found in enumerate(places) if found]
        pieces = {number: self._pieces(texts[number], places[number]) for number in spoken}
        sequences = [[*sum(pieces[number], []), *self.loaded.end] for number in spoken]
        results = [Tags(())] * len(texts)
        for number, row in zip(spoken, self.loaded.run_all(self.graph, sequences), strict=True):
            results[number] = self._tags(texts[number], places[number], pieces[number], row["probabilities"])
        return results

    def _pieces(self, text, places):
        unknown = [self.loaded.source.unk_id()]
        return [ids or unknown for ids in self.loaded.source.encode([text[start:end] for start, end in places])]

    def _tags(self, text, places, pieces, probabilities):
        self._check(probabilities, (*probabilities.shape[:1], len(self.labels)))
        first, found = 0, []
        for (start, end), ids in zip(places, pieces, strict=True):
            best = int(probabilities[first].argmax())
            found.append(Word(text[start:end], self.labels[best], start, end, float(probabilities[first, best])))
            first += len(ids)
        return Tags(tuple(found))
