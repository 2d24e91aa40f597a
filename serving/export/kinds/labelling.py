"""Models that give a label to a text, or to a pair of texts."""

import numpy as np
import tensorflow as tf

from serving.export.kinds.reader import Reader


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


KIND = Label
