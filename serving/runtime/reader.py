"""The predictor of every artefact whose graph reads a text and answers at once: labels, tags, vectors, numbers."""

from dataclasses import replace
from functools import cached_property

from serving.kinds.base import PLACES, pair
from serving.runtime.errors import DamagedError
from serving.runtime.reading import Reading, is_answered, is_blank, texts_or_pairs
from serving.runtime.sampling import Mode


class Reader:
    """Answers texts, or pairs of texts, as their kind says.

    Args:
        kind: a `serving.kinds.base.Kind` that does not write.
        loaded: `serving.runtime.loaded.Loaded`.
    """

    beams = ()  # it does not search

    def __init__(self, kind, loaded):
        self.kind, self.loaded, self.options = kind, loaded, kind.options
        self.reads_pairs = len(kind.sides(loaded.manifest)) > 1

    @cached_property
    def prepared(self):
        return self.kind.prepare(self.loaded.manifest)

    @property
    def graph(self):
        return self.loaded.graph(self.kind.name)

    @property
    def modes(self):
        return [Mode(self.kind.name, self.graph, {"words": "spaces"} if self.kind.by_words else {})]  # data are cut

    def run(self, texts, words=None):
        groups = self._read_pairs(texts) if self.reads_pairs else self._read(texts, words)
        answerable = [readings for readings in groups if self._is_answered(readings)]
        ids = [[reading.ids for reading in readings] for readings in answerable]
        if self.reads_pairs:
            rows = iter(self.loaded.run_pairs(self.graph, ids))
        else:
            rows = iter(self.loaded.run_all(self.graph, [own for (own,) in ids]))
        results = []
        for readings in groups:
            result = self._make_result(next(rows), readings[0]) if self._is_answered(readings) else self.kind.blank()
            error = _remark([reading.error for reading in readings])
            warning = None if error else _remark([reading.warning for reading in readings])
            results.append(replace(result, error=error, warning=warning) if error or warning else result)
        return results

    def _read(self, texts, words):
        """The `Reading` of each text, alone in a tuple."""
        readings = self.loaded.read_words(texts, words) if self.kind.by_words else self.loaded.read(texts)
        return [(reading,) for reading in readings]

    def _read_pairs(self, texts):
        """The two `Reading`s of each pair; of what is no pair, one that is blank or refused."""
        parts = list(map(_split_pair, texts_or_pairs(texts)))
        pairs = [each for each in parts if isinstance(each, tuple)]
        sides = [iter(self.loaded.read([both[side] for both in pairs])) for side in (0, 1)]
        return [tuple(map(next, sides)) if isinstance(each, tuple) else (each,) for each in parts]

    def _is_answered(self, readings):
        if self.kind.by_words:
            return bool(readings[0].places)
        return not any(reading.error for reading in readings) and any(map(is_answered, readings))

    def _make_result(self, outputs, reading):
        """The result of a row of the graph's outputs, if they have the shapes that the kind and the manifest say."""
        for name, expected in self.kind.shapes(self.loaded.manifest).items():
            shape = outputs[name].shape
            if len(shape) != len(expected) or any(
                most not in (None, shape[axis]) for axis, most in enumerate(expected)
            ):
                raise DamagedError(
                    f"{self.loaded.directory} is damaged: by `kind` and `labels` in its manifest, {name} have the "
                    f"shape {expected}; its graph gives {shape}. Copy the artefact again, or export it again."
                )
        return self.kind.make_result(outputs, self.prepared, reading)


def _split_pair(text):
    """`(first, second)` of a pair or of "first TAB second", or the `Reading` of what is no pair."""
    if isinstance(text, tuple):
        if len(text) == 2:
            return text
        text = "\t".join(text)
    try:
        return pair(text)
    except ValueError as error:
        return Reading(error=None if is_blank(text) else str(error))


def _remark(messages):
    """The error or warning of a text; of a pair that of the first, or else of the second, with its place before it."""
    places = PLACES if len(messages) > 1 else ("",)
    return next((place + message for place, message in zip(places, messages, strict=True) if message), None)
