"""What decides how deep to go is float32 under every policy, and the symbol that stands for it says so."""

import keras
import numpy as np
import pytest

from zoo.depth import GeometricExit, Halting, MultinomialExit, SequenceExit


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16", "float32"])
@pytest.mark.parametrize(
    "make",
    [
        Halting,
        lambda **kw: GeometricExit(3, **kw),
        lambda **kw: MultinomialExit(3, **kw),
        lambda **kw: SequenceExit(3, **kw),
    ],
)
def test_decisions_are_float32(make, policy):
    layer = make(dtype=policy)
    symbol = layer(keras.Input((5, 4), dtype=layer.compute_dtype))
    value = layer(np.ones((2, 5, 4), "float32"))
    assert symbol.dtype == keras.backend.standardize_dtype(value.dtype) == "float32"
    assert symbol.shape[1:] == value.shape[1:]
