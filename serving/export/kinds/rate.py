"""Models that give a number to a text, or to a pair of texts."""

import numpy as np
import tensorflow as tf

from serving.export.kinds.reader import Reader


class Rate(Reader):
    """A model that gives a number to a text, or to a pair of texts; a blank one, or one that is refused, has none."""

    names = ("rate",)

    def in_graph(self, ratings, answered):
        return {"rating": tf.where(answered, ratings, 0.0), "rated": tf.cast(answered, "int32")}

    def in_python(self, rating):
        is_rated = rating is not None
        return {"rating": rating if is_rated else np.float32(0), "rated": np.array(int(is_rated), "int32")}


KIND = Rate
