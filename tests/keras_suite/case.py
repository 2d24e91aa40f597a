"""One row of the table: a layer, what Keras' own suite of tests is told of it, and what is left out and why."""

from collections.abc import Callable
from dataclasses import dataclass, field

import keras


@dataclass(frozen=True)
class Suite:
    """What `keras.src.testing.TestCase.run_layer_test` needs to know of a layer.

    Args:
        make: makes the layer and its parts anew, with `dtype=...` if it is given.
        shapes: of the input, or by the names of `build`'s arguments where the layer is called with several.
        output: the expected shape, or shapes, of the output.
        trainable, fixed: how many parameters are trained, and how many are not, by the papers' formulas.
        weights, fixed_weights: in how many arrays those lie.
        settings: what else `run_layer_test` is told (`call_kwargs`, `expected_num_seed_generators`, ...).
        dtypes: of the inputs where they are not all float32.
        own_training: why Keras' training check cannot be asked. It hands inputs over as the one positional argument of
            the layer and leaves `call_kwargs` out. `run` then trains the layer itself, with names and `call_kwargs`.
        untrained: why no step of training is taken at all.
        uncalled: why the layer is not called at all, so that its config alone is tested.
    """

    name: str
    make: Callable
    shapes: tuple | dict | None
    output: object
    trainable: int = 0
    weights: int = 0
    fixed: int = 0
    fixed_weights: int = 0
    settings: dict = field(default_factory=dict)
    dtypes: object = None
    own_training: str = ""
    untrained: str = ""
    uncalled: str = ""


def by_policy(make):
    """A `Suite.make` of a function that takes no dtype: what it makes is made under a global policy."""

    def made(dtype=None):
        before = keras.config.dtype_policy()
        keras.config.set_dtype_policy(dtype or before)
        try:
            return make()
        finally:
            keras.config.set_dtype_policy(before)

    return made
