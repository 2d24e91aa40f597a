"""Models that label: a text (`Classify`), two of them (`Compare`) or each word of one (`Tag`)."""

import numpy as np
import tensorflow as tf

from serving import gate
from serving.kinds.base import ExportedFunction, Kind, remarks
from serving.pairs import PLACES, pair
from serving.parity.grid import grid
from serving.reading import speaks
from serving.signatures import pair_probabilities, probabilities
from zoo.text.special import EOS


class Classify(Kind):
    """A text, and its label."""

    name = "classify"
    function = staticmethod(probabilities)

    def make_functions(self):
        if len(self.settings.labels) != self.model.num_labels:
            raise ValueError(
                f"Export needs a name for each label: the model has {self.model.num_labels}, received "
                f"{len(self.settings.labels)}. They stand in the run's labels.json, in the order of their ids."
            )
        return [ExportedFunction(self.table(self.name), self.function(self.model), "model.onnx", int8=True)]

    def strings(self, tokenizers, text):
        token_ids, lengths, gated, spoken = self.gated(tokenizers[0], text)
        found = self.functions[self.name].traced(token_ids, lengths)["probabilities"]
        return self._labels(found, spoken) | {"errors": gated.errors, "warnings": gated.warnings}

    def _labels(self, found, spoken):
        """What is answered in TensorFlow: a blank where nothing is `spoken`."""
        return {
            "label": tf.where(spoken, self._best(found), ""),
            "probabilities": tf.where(spoken[:, None], found, 0.0),
        }

    def _best(self, found):
        """The label of the highest probability, in TensorFlow."""
        return tf.gather(tf.constant(self.settings.labels), tf.argmax(found, axis=-1))

    def answer(self, tokenizers, text):
        reading = self.read(tokenizers[0], text)
        return self._label(self._probabilities(reading.ids) if speaks(reading) else None) | remarks(reading)

    def _label(self, found):
        """What is answered in Python; None is a blank."""
        if found is None:
            return {"label": np.array(""), "probabilities": np.zeros(len(self.settings.labels), "float32")}
        return {"label": np.array(self.settings.labels[found.argmax()]), "probabilities": found}

    def _probabilities(self, ids):
        found = self.ask(self.name, token_ids=np.array([ids], "int32"), lengths=np.array([len(ids)], "int32"))
        return found["probabilities"][0]

    def cases(self, vocabularies):
        return ((self.name, source) for source in grid(vocabularies[0], most=self.max_ids))

    def facts(self):
        return super().facts() | {"labels": list(self.settings.labels)}


class Compare(Classify):
    """Two texts, and the label of the pair."""

    name = "compare"
    function = staticmethod(pair_probabilities)

    def strings(self, tokenizers, first_text, second_text):
        sides = [self.gated(tokenizers[0], text) for text in (first_text, second_text)]
        found = self.functions[self.name].traced(*(part for side in sides for part in side[:2]))["probabilities"]
        *_, gated, spoken = zip(*sides, strict=True)
        said = {name: _either([getattr(side, name) for side in gated], tf.where) for name in ("errors", "warnings")}
        spoken = tf.equal(said["errors"], "") & (spoken[0] | spoken[1])
        return self._labels(found, spoken) | said

    def asked(self, texts):
        first, second = zip(*map(pair, texts), strict=True)
        return {"first_text": np.array(first, dtype=str), "second_text": np.array(second, dtype=str)}

    def answer(self, tokenizers, text):
        readings = [self.read(tokenizers[0], side) for side in pair(text)]
        said = {name: _either([remarks(each)[name] for each in readings], np.where) for name in ("errors", "warnings")}
        if said["errors"] or not any(map(speaks, readings)):
            return self._label(None) | said
        sides = [
            {"token_ids": np.array([each.ids], "int32"), "lengths": np.array([len(each.ids)], "int32")}
            for each in readings
        ]
        return self._label(self.ask(self.name, **_pair_inputs(*sides))["probabilities"][0]) | said

    def extremes(self):
        """A blank pair, half a pair, and every long text beside a short one, in either place."""
        *blanks, long, longer = super().extremes()
        return ["\t".join(sides) for sides in (blanks, ("a", ""), (long, "a"), ("a", long), ("a", longer))]

    def cases(self, vocabularies):
        """Two grids side by side; beside each case stands another of as many rows, and mostly of another length."""
        firsts, seconds = (list(grid(vocabularies[0], seed, self.max_ids)) for seed in (0, 1))
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


def _either(said, where):
    """What is said of the first text, or else of the second, with the text it is said of."""
    first, second = (where(part == "", "", name + part) for name, part in zip(PLACES, said, strict=True))
    return where(first == "", second, first)


class Tag(Classify):
    """A text, and a tag for each of its words."""

    name = "tag"

    def strings(self, tokenizers, text):
        clipped = gate.clip(self.bound, text)
        token_ids, lengths, found = tokenizers[0].encode_words(clipped.text)
        token_ids, lengths, gated, found = gate.limit_words(self.bound, clipped, token_ids, lengths, found)
        all_ = self.functions[self.name].traced(token_ids, lengths)["probabilities"]
        first = tf.gather(all_, found["first"], batch_dims=1)
        there = tf.sequence_mask(found["word_counts"], tf.shape(found["first"])[1])
        return {
            "tags": tf.where(there, self._best(first), ""),
            "scores": tf.where(there, tf.reduce_max(first, axis=-1), 0.0),
            **{name: found[name] for name in ("starts", "ends", "word_counts")},
            "errors": gated.errors,
            "warnings": gated.warnings,
        }

    def answer(self, tokenizers, text):
        (reading,) = self.bound.read_words([text], tokenizers[0].encode_words, [EOS])
        chosen = np.zeros((0, len(self.settings.labels)), "float32")
        if reading.places:
            chosen = self._probabilities(reading.ids)[np.array(reading.first)]
        labels = np.array(self.settings.labels)
        return {
            "tags": labels[chosen.argmax(axis=-1)],
            "scores": chosen.max(axis=-1),
            "starts": np.array([start for start, _ in reading.places], "int32"),
            "ends": np.array([end for _, end in reading.places], "int32"),
            "word_counts": np.array(len(reading.places), "int32"),
            **remarks(reading),
        }
