"""Models that label: a text (`Classify`) or each of its words (`Tag`)."""

import numpy as np
import tensorflow as tf

from serving.kinds.base import Kind, Row
from serving.parity.grid import grid
from serving.signatures import probabilities
from serving.words import words
from zoo.text.special import EOS


class Classify(Kind):
    """A text, and its label."""

    name = "classify"

    def make_rows(self):
        if len(self.settings.labels) != self.model.num_labels:
            raise ValueError(
                f"Export needs a name for each label: the model has {self.model.num_labels}, received "
                f"{len(self.settings.labels)}. They stand in the run's labels.json, in the order of their ids."
            )
        return [Row(self.table(self.name), probabilities(self.model), "model.onnx", int8=True)]

    def strings(self, tokenizers, text):
        (tokenizer,) = tokenizers
        found = self.rows[self.name].traced(*tokenizer.encode(text))["probabilities"]
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


class Tag(Classify):
    """A text, and a tag for each of its words."""

    name = "tag"

    def strings(self, tokenizers, text):
        (tokenizer,) = tokenizers
        token_ids, lengths, found = tokenizer.encode_words(text)
        all_ = self.rows[self.name].traced(token_ids, lengths)["probabilities"]
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
