"""Token ids of any kind of whole numbers."""

import keras
from keras import ops


def as_ids(ids):
    """Ids as int32, or as the int64 that they are.

    Raises:
        ValueError: they are no whole numbers. Under mixed precision Keras rounds such ids before a layer sees them.
    """
    dtype = keras.backend.standardize_dtype(ids.dtype)
    if "int" not in dtype:
        raise ValueError(
            f"Token ids are whole numbers, such as int32. Received: {dtype}. Give integers, and to a `keras.Input` of "
            'ids dtype="int32", which is float32 without it.'
        )
    return ids if dtype in ("int32", "int64") else ops.cast(ids, "int32")
