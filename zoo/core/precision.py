"""What 16 bits are too few for: hashes, scores, and sums and counts along an axis that may be long.

float16 ends at 65,504, and a sum of ones that is kept in it stops at 2,048; one in bfloat16 stops at 256. Products of
matrices are left as they are: accelerators add up theirs in float32.
"""

import keras
from keras import ops


def wide(x):
    """In float32, or wider where `x` is."""
    return x if keras.backend.standardize_dtype(x.dtype) == "float64" else ops.cast(x, "float32")
