"""Models that give a label to a text, or to a pair of texts."""

import numpy as np
import tensorflow as tf
from keras import ops

from serving.export.kinds.reader import Reader


class Label(Reader):
    """A model that gives a label to a text, or to a pair of texts."""

    names = ("classify", "compare")

    @property
    def text_graph(self):
        return None if self.pairs else self.name

    @staticmethod
    def finish(outputs):
        return ops.softmax(outputs, axis=-1)

    def make_functions(self):
        check_labels(self.model, self.settings.labels)
        return super().make_functions()

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
        scope = {"scope": dict(self.settings.scope)} if self.settings.scope else {}
        return super().facts() | {"labels": list(self.settings.labels)} | scope


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


KIND = Label
