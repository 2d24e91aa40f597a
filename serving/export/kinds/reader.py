"""Models whose graph reads a text, or a pair of texts, and answers at once: with a label, a vector or a number."""

import numpy as np
import tensorflow as tf
from keras import ops

from serving.export.kinds.base import ExportedFunction, Kind, grid, remarks, row
from serving.export.signatures import reading
from serving.kinds.base import PLACES, pair
from serving.runtime.reading import is_answered

NOTES = ("errors", "warnings")


class Reader(Kind):
    """A model with one signature of ids, which has the name of its kind, and one output.

    A subclass says what an answer is, once in TensorFlow and once in Python: `in_graph(answer, answered)` gives the
    outputs of `serving_default`, in which a row that is not `answered` is blank, and `in_python(answer)` those of one
    row, where `answer` is None for a blank answer. One that answers for each word has its own `strings` and `answer`.
    """

    @property
    def pairs(self):
        """Whether it reads two texts."""
        return len(self.table(self.name).inputs) > 2

    @property
    def output(self):
        """The name of what the graph gives."""
        return self.table(self.name).outputs[0].name

    @property
    def has_labels(self):
        """Whether the model gives logits of labels, and the graph their probabilities."""
        return "labels" in self.plain.needs

    def make_functions(self):
        if self.has_labels:
            check_labels(self.model, self.settings.labels)
        function = reading(self.model, self.output, ops.softmax if self.has_labels else lambda outputs: outputs)
        return [ExportedFunction(self.table(self.name), function, "model.onnx", int8=True)]

    def strings(self, tokenizers, *texts):
        sides = [self.read_in_graph(tokenizers[0], text) for text in texts]
        answer = self.functions[self.name].traced(*(part for side in sides for part in side[:2]))[self.output]
        *_, gated, answered = zip(*sides, strict=True)
        notes = _join_notes([{name: getattr(side, name) for name in NOTES} for side in gated], tf.where)
        if self.pairs:
            answered = [tf.equal(notes["errors"], "") & (answered[0] | answered[1])]
        return self.in_graph(answer, answered[0]) | notes

    def make_inputs(self, texts):
        if not self.pairs:
            return super().make_inputs(texts)
        first, second = zip(*map(pair, texts), strict=True)
        return {"first_text": np.array(first, dtype=str), "second_text": np.array(second, dtype=str)}

    def answer(self, tokenizers, text):
        readings = self._readings(tokenizers, text)
        notes = _join_notes(list(map(remarks, readings)), np.where)
        if notes["errors"] or not any(map(is_answered, readings)):
            return self.in_python(None) | notes
        return self.in_python(self.ask_row(*(row(each.ids) for each in readings))) | notes

    def ask_row(self, *sides):
        """What the graph gives for one row, whose sides are inputs of a graph that reads one text."""
        return self.ask(self.name, **self._inputs(*sides))[self.output][0]

    def graph_inputs(self, tokenizers, text):
        readings = self._readings(tokenizers, text)
        return self._inputs(*(row(each.ids) for each in readings)) if all(map(is_answered, readings)) else None

    def extremes(self):
        """Of pairs: blank ones, pairs with one blank text, and long texts as the first and as the second."""
        if not self.pairs:
            return super().extremes()
        *blanks, long, longer = super().extremes()
        return ["\t".join(sides) for sides in (blanks, ("a", ""), (long, "a"), ("a", long), ("☃", longer))]

    def cases(self, vocabularies):
        """Of pairs: cases from two grids, with equal batch sizes and mostly different lengths."""
        firsts = list(grid(vocabularies[0], 0, self.max_ids, self.large))
        if not self.pairs:
            return [(self.name, source) for source in firsts]
        seconds, pairs = list(grid(vocabularies[0], 1, self.max_ids, self.large)), []
        for number, first in enumerate(firsts):
            alike = [second for second in seconds if len(second["lengths"]) == len(first["lengths"])]
            pairs.append((self.name, self._inputs(first, alike[(number + 3) % len(alike)])))
        return pairs

    def facts(self):
        return super().facts() | ({"labels": list(self.settings.labels)} if self.has_labels else {})

    def _readings(self, tokenizers, text):
        return [self.read(tokenizers[0], side) for side in (pair(text) if self.pairs else [text])]

    def _inputs(self, *sides):
        """The inputs of the graph from those of one text or of two."""
        if not self.pairs:
            return sides[0]
        names = {"ids": "token_ids", "lengths": "lengths"}
        pairs = zip(("first", "second"), sides, strict=True)
        return {f"{side}_{name}": inputs[key] for side, inputs in pairs for name, key in names.items()}


class Label(Reader):
    """A model that gives a label to a text, or to a pair of texts."""

    names = ("classify", "compare")

    @property
    def text_graph(self):
        return None if self.pairs else self.name

    def in_graph(self, probabilities, answered):
        return {
            "label": tf.where(answered, self._best(probabilities), ""),
            "probabilities": tf.where(answered[:, None], probabilities, 0.0),
        }

    def _best(self, probabilities):
        """The best label, or the one of texts out of scope where the best one is not likely enough, in TensorFlow."""
        scope = self.settings.scope
        best = tf.gather(tf.constant(self.settings.labels), tf.argmax(probabilities, axis=-1))
        if not scope:
            return best
        return tf.where(tf.reduce_max(probabilities, axis=-1) < scope["threshold"], scope["label"], best)

    def in_python(self, probabilities):
        if probabilities is None:
            return {"label": np.array(""), "probabilities": np.zeros(len(self.settings.labels), "float32")}
        scope = self.settings.scope
        in_scope = not scope or probabilities.max() >= scope["threshold"]
        label = self.settings.labels[probabilities.argmax()] if in_scope else scope["label"]
        return {"label": np.array(label), "probabilities": probabilities}

    def facts(self):
        return super().facts() | ({"scope": dict(self.settings.scope)} if self.settings.scope else {})


class Embed(Reader):
    """A model that gives a text its vector; that of a blank text, or of one that is refused, is 0."""

    names = ("embed",)

    def in_graph(self, vectors, answered):
        return {"vector": tf.where(answered[:, None], vectors, 0.0)}

    def in_python(self, vector):
        return {"vector": np.zeros(self.model.units, "float32") if vector is None else vector}


class Rate(Reader):
    """A model that gives a number to a text, or to a pair of texts; a blank one, or one that is refused, has none."""

    names = ("rate",)

    def in_graph(self, ratings, answered):
        return {"rating": tf.where(answered, ratings, 0.0), "rated": tf.cast(answered, "int32")}

    def in_python(self, rating):
        is_rated = rating is not None
        return {"rating": rating if is_rated else np.float32(0), "rated": np.array(int(is_rated), "int32")}


def check_labels(model, labels):
    """Check that there is a name for each label of a model.

    Raises:
        ValueError: there are more, or fewer.
    """
    if len(labels) != model.num_labels:
        raise ValueError(
            f"Export needs a name for each label: the model has {model.num_labels}, received {len(labels)}. They are "
            "in the run's labels.json, in the order of their ids."
        )


def _join_notes(sides, where):
    """The errors and warnings of the only text; of two those of the first, or else of the second, with its name before.

    What is refused has no warning.
    """
    if len(sides) == 1:
        return sides[0]
    notes = {}
    for name in NOTES:
        parts = [(place, side[name]) for place, side in zip(PLACES, sides, strict=True)]
        first, second = (where(part == "", "", place + part) for place, part in parts)
        notes[name] = where(first == "", second, first)
    return notes | {"warnings": where(notes["errors"] == "", notes["warnings"], "")}
