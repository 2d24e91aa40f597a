"""Models that label a text (`Classify`), a pair of texts (`Compare`) or each word of a text (`Tag`)."""

import numpy as np
import tensorflow as tf

from serving.export import gate, transitions as in_graph
from serving.export.kinds.base import ExportedFunction, Kind, remarks, row
from serving.export.kinds.grid import grid
from serving.export.signatures import pair_probabilities, probabilities
from serving.kinds.pairs import PLACES, pair
from serving.runtime.reading import is_answered
from zoo.scores.transitions import likeliest_tags, transitions


class Classify(Kind):
    """A model that gives a label to a text."""

    name = "classify"
    text_graph = "classify"
    function = staticmethod(probabilities)

    def make_functions(self):
        if len(self.settings.labels) != self.model.num_labels:
            raise ValueError(
                f"Export needs a name for each label: the model has {self.model.num_labels}, received "
                f"{len(self.settings.labels)}. They are in the run's labels.json, in the order of their ids."
            )
        return [ExportedFunction(self.table(self.name), self.function(self.model), "model.onnx", int8=True)]

    def strings(self, tokenizers, text):
        token_ids, lengths, gated, answered = self.gated(tokenizers[0], text)
        found = self.functions[self.name].traced(token_ids, lengths)["probabilities"]
        return self._labels(found, answered) | {"errors": gated.errors, "warnings": gated.warnings}

    def _labels(self, found, answered):
        """The answers in TensorFlow; a text that is not `answered`, because it is blank or refused, has a blank one."""
        return {
            "label": tf.where(answered, self._scoped(found), ""),
            "probabilities": tf.where(answered[:, None], found, 0.0),
        }

    def _scoped(self, found):
        """The best label, or the one of texts out of scope where the best one is not likely enough, in TensorFlow."""
        scope, best = self.settings.scope, self._best(found)
        if not scope:
            return best
        return tf.where(tf.reduce_max(found, axis=-1) < scope["threshold"], scope["label"], best)

    def _best(self, found):
        """The label of the highest probability, in TensorFlow."""
        return tf.gather(tf.constant(self.settings.labels), tf.argmax(found, axis=-1))

    def answer(self, tokenizers, text):
        reading = self.read(tokenizers[0], text)
        return self._label(self._probabilities(reading.ids) if is_answered(reading) else None) | remarks(reading)

    def _label(self, found):
        """The answer in Python; `found` is None for a blank answer."""
        if found is None:
            return {"label": np.array(""), "probabilities": np.zeros(len(self.settings.labels), "float32")}
        scope = self.settings.scope
        known = not scope or found.max() >= scope["threshold"]
        label = self.settings.labels[found.argmax()] if known else scope["label"]
        return {"label": np.array(label), "probabilities": found}

    def _probabilities(self, ids):
        return self.ask(self.name, **row(ids))["probabilities"][0]

    def cases(self, vocabularies):
        return ((self.name, source) for source in grid(vocabularies[0], most=self.max_ids, few=self.large))

    def facts(self):
        scope = {"scope": dict(self.settings.scope)} if self.settings.scope else {}
        return super().facts() | {"labels": list(self.settings.labels)} | scope


class Compare(Classify):
    """A model that gives a label to a pair of texts."""

    name = "compare"
    text_graph = None
    function = staticmethod(pair_probabilities)

    def strings(self, tokenizers, first_text, second_text):
        sides = [self.gated(tokenizers[0], text) for text in (first_text, second_text)]
        found = self.functions[self.name].traced(*(part for side in sides for part in side[:2]))["probabilities"]
        *_, gated, answered = zip(*sides, strict=True)
        notes = {name: _either([getattr(side, name) for side in gated], tf.where) for name in ("errors", "warnings")}
        answered = tf.equal(notes["errors"], "") & (answered[0] | answered[1])
        return self._labels(found, answered) | notes

    def asked(self, texts):
        first, second = zip(*map(pair, texts), strict=True)
        return {"first_text": np.array(first, dtype=str), "second_text": np.array(second, dtype=str)}

    def answer(self, tokenizers, text):
        readings = [self.read(tokenizers[0], side) for side in pair(text)]
        notes = {name: _either([remarks(each)[name] for each in readings], np.where) for name in ("errors", "warnings")}
        if notes["errors"] or not any(map(is_answered, readings)):
            return self._label(None) | notes
        inputs = _pair_inputs(*(row(each.ids) for each in readings))
        return self._label(self.ask(self.name, **inputs)["probabilities"][0]) | notes

    def fed(self, tokenizers, text):
        readings = [self.read(tokenizers[0], side) for side in pair(text)]
        return _pair_inputs(*(row(each.ids) for each in readings)) if all(map(is_answered, readings)) else None

    def extremes(self):
        """A blank pair, a pair with one blank text, and long texts as the first and as the second of a pair."""
        *blanks, long, longer = super().extremes()
        return ["\t".join(sides) for sides in (blanks, ("a", ""), (long, "a"), ("a", long), ("a", longer))]

    def cases(self, vocabularies):
        """Pairs of cases from two grids, with equal batch sizes and mostly different lengths."""
        firsts, seconds = (list(grid(vocabularies[0], seed, self.max_ids, self.large)) for seed in (0, 1))
        for number, first in enumerate(firsts):
            alike = [second for second in seconds if len(second["lengths"]) == len(first["lengths"])]
            yield self.name, _pair_inputs(first, alike[(number + 3) % len(alike)])


def _pair_inputs(first, second):
    """The inputs of "compare" from those of two texts."""
    sides = {"first": first, "second": second}
    return {
        f"{side}_{name}": inputs[key]
        for side, inputs in sides.items()
        for name, key in (("ids", "token_ids"), ("lengths", "lengths"))
    }


def _either(messages, where):
    """The error or warning of the first text, or else of the second, with the name of the text before it."""
    first, second = (where(part == "", "", name + part) for name, part in zip(PLACES, messages, strict=True))
    return where(first == "", second, first)


class Tag(Classify):
    """A model that gives a tag to each word of a text."""

    name = "tag"
    text_graph = None

    def strings(self, tokenizers, text):
        clipped = gate.clip(self.bound, text)
        pieces, around = tokenizers[0].word_pieces(clipped.text), self.around(tokenizers[0])
        token_ids, lengths, gated, found = gate.limit_words(self.bound, clipped, *pieces, around)
        all_ = self.functions[self.name].traced(token_ids, lengths)["probabilities"]
        first = tf.gather(all_, found["first"], batch_dims=1)
        there = tf.sequence_mask(found["word_counts"], tf.shape(found["first"])[1])
        allowed = transitions(self.settings.labels)
        best = tf.argmax(first, axis=-1) if allowed is None else in_graph.likeliest_tags(first, there, allowed)
        return {
            "tags": tf.where(there, tf.gather(tf.constant(self.settings.labels), best), ""),
            "scores": tf.where(there, tf.gather(first, best, batch_dims=2), 0.0),
            **{name: found[name] for name in ("starts", "ends", "word_counts")},
            "errors": gated.errors,
            "warnings": gated.warnings,
        }

    def fed(self, tokenizers, text):
        reading = self._reading(tokenizers, text)
        return row(reading.ids) if reading.places else None

    def answer(self, tokenizers, text):
        reading = self._reading(tokenizers, text)
        chosen = np.zeros((0, len(self.settings.labels)), "float32")
        if reading.places:
            chosen = self._probabilities(reading.ids)[np.array(reading.first)]
        best, scores = likeliest_tags(chosen, transitions(self.settings.labels))
        return {
            "tags": np.array(self.settings.labels)[best],
            "scores": scores,
            "starts": np.array([start for start, _ in reading.places], "int32"),
            "ends": np.array([end for _, end in reading.places], "int32"),
            "word_counts": np.array(len(reading.places), "int32"),
            **remarks(reading),
        }

    def _reading(self, tokenizers, text):
        """The `Reading` of one text and of its words."""
        (reading,) = self.bound.read_words([text], tokenizers[0].encode_words, self.around(tokenizers[0]))
        return reading
