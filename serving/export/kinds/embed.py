"""Models that give a text its vector."""

import numpy as np
import tensorflow as tf

from serving.export.kinds.reader import Reader


class Embed(Reader):
    """A model that gives a text its vector; that of a blank text, or of one that is refused, is 0."""

    names = ("embed",)

    def in_graph(self, vectors, answered):
        return {"vector": tf.where(answered[:, None], vectors, 0.0)}

    def in_python(self, vector):
        return {"vector": np.zeros(self.model.units, "float32") if vector is None else vector}


KIND = Embed
