"""Models that label: a text (`Classify`), two of them (`Compare`) or each word of one (`Tag`)."""

import numpy as np
import tensorflow as tf

from serving.kinds.base import ExportedFunction, Kind
from serving.pairs import pair
from serving.parity.grid import grid
from serving.signatures import pair_probabilities, probabilities
from serving.words import words
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
        (tokenizer,) = tokenizers
        found = self.functions[self.name].traced(*tokenizer.encode(text))["probabilities"]
        return {"label": self._best(found), "probabilities": found}

    def _best(self, found):
        """The label of the highest probability, in TensorFlow."""
        return tf.gather(tf.constant(self.settings.labels), tf.argmax(found, axis=-1))

    def answer(self, tokenizers, text):
        (ids,) = tokenizers[0].encode([text])
        found = self._probabilities([*ids, EOS])
        return {"label": np.array(self.settings.labels[found.argmax()]), "probabilities": found}

    def _probabilities(self, ids):
        found = self.ask(self.name, token_ids=np.array([ids], "int32"), lengths=np.array([len(ids)], "int32"))
        return found["probabilities"][0]

    def cases(self, vocabularies):
        return ((self.name, source) for source in grid(vocabularies[0]))

    def facts(self):
        return {"labels": list(self.settings.labels)}


class Compare(Classify):
    """Two texts, and the label of the pair."""

    name = "compare"
    function = staticmethod(pair_probabilities)

    def strings(self, tokenizers, first_text, second_text):
        sides = (part for text in (first_text, second_text) for part in tokenizers[0].encode(text))
        found = self.functions[self.name].traced(*sides)["probabilities"]
        return {"label": self._best(found), "probabilities": found}

    def asked(self, texts):
        first, second = zip(*map(pair, texts), strict=True)
        return {"first_text": np.array(first, dtype=str), "second_text": np.array(second, dtype=str)}

    def answer(self, tokenizers, text):
        sides = [
            {"token_ids": np.array([[*ids, EOS]], "int32"), "lengths": np.array([len(ids) + 1], "int32")}
            for ids in tokenizers[0].encode(list(pair(text)))
        ]
        found = self.ask(self.name, **_pair_inputs(*sides))["probabilities"][0]
        return {"label": np.array(self.settings.labels[found.argmax()]), "probabilities": found}

    def cases(self, vocabularies):
        """Two grids side by side; beside each case stands another of as many rows, and mostly of another length."""
        firsts, seconds = (list(grid(vocabularies[0], seed)) for seed in (0, 1))
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


class Tag(Classify):
    """A text, and a tag for each of its words."""

    name = "tag"

    def strings(self, tokenizers, text):
        (tokenizer,) = tokenizers
        token_ids, lengths, found = tokenizer.encode_words(text)
        all_ = self.functions[self.name].traced(token_ids, lengths)["probabilities"]
        first = tf.gather(all_, found["first"], batch_dims=1)
        there = tf.sequence_mask(found["word_counts"])
        return {
            "tags": tf.where(there, self._best(first), ""),
            "scores": tf.where(there, tf.reduce_max(first, axis=-1), 0.0),
            **{name: found[name] for name in ("starts", "ends", "word_counts")},
        }

    def answer(self, tokenizers, text):
        found = words(text)
        pieces = tokenizers[0].encode_words([text[start:end] for start, end in found])
        first = np.cumsum([0, *map(len, pieces)])[:-1].astype("int32")
        chosen = self._probabilities([*sum(pieces, []), EOS])[first]
        labels = np.array(self.settings.labels)
        return {
            "tags": labels[chosen.argmax(axis=-1)],
            "scores": chosen.max(axis=-1),
            "starts": np.array([start for start, _ in found], "int32"),
            "ends": np.array([end for _, end in found], "int32"),
            "word_counts": np.array(len(found), "int32"),
        }
