"""Token ids of any kind of numbers."""

import keras
from keras import ops


def as_ids(ids):
    """Ids as int32, or as the int64 that they are.

    They may be floats, as in Keras' own `Embedding`: a `keras.Input` without a dtype is float32, and so is what Keras
    builds a model of one's own with. A layer that takes ids has `autocast=False`, so that no precision rounds them.
    """
    whole = keras.backend.standardize_dtype(ids.dtype) in ("int32", "int64")
    return ids if whole else ops.cast(ids, "int32")
