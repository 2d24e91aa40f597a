"""Keras' own suite of tests over the cases of the contract battery. As a program it runs some on the backend it has."""

import json
import sys
import time
import traceback

import keras
import numpy as np
from keras import ops, tree
from keras.src.testing import TestCase

from tests.all_cases import CASES, VARIATIONS
from tests.keras_suite.parameters import FIXED, TRAINED
from tests.weights import of_policy
from zoo.check.laws import ROWS

TIME = 5
# With its exits live each block stands in a condition, which on JAX the count of a dropout's calls cannot leave. Models
# train by all depths instead.
UNTRAINED_ON_JAX = ("depth-adaptive-exits",)
ASKED = {case.name: case for case in CASES if case.name not in VARIATIONS}


@keras.saving.register_keras_serializable("tests_keras_suite")
class Applied(keras.layers.Layer):
    """A case of the battery as Keras' suite can call it: with one tuple of arrays, and answered by one array.

    Args:
        case: the name of the case, whose layer is made under the policy of this one.
    """

    def __init__(self, case, **kwargs):
        super().__init__(**kwargs)
        self.case_name = case
        with of_policy(self.dtype_policy):
            self.inner = ASKED[case].make()

    def build(self, shapes):
        self.call(arrays(ASKED[self.case_name]))

    def call(self, inputs):
        case = ASKED[self.case_name]
        named = tree.pack_sequence_as(case.arguments(ROWS, TIME, 0), list(inputs))
        outputs = tree.flatten(case.apply(self.inner, named))
        if len(outputs) == 1:
            return outputs[0]
        return ops.tile(ops.stack([ops.sum(ops.cast(each, "float32")) for each in outputs])[None], (len(ROWS), 1))

    def get_config(self):
        return {**super().get_config(), "case": self.case_name}


def arrays(case):
    """What a case is called with, flat."""
    return tuple(map(ops.convert_to_tensor, tree.flatten(case.arguments(ROWS, TIME, 0))))


def run(name):
    """`run_layer_test` of a case, the config of its layer, and its parameters counted."""
    case, suite, layer = ASKED[name], TestCase(), ASKED[name].make()
    if not layer.built:  # what is built already has weights that its config does not make
        suite.run_class_serialization_test(layer)
    trained = keras.backend.backend() != "jax" or name not in UNTRAINED_ON_JAX
    suite.run_layer_test(Applied, {"case": name}, input_data=arrays(case), run_training_check=trained)
    layer = Applied(name)
    layer(arrays(case))
    if name in TRAINED:
        counted = [sum(int(np.prod(each.shape)) for each in own) for own in
                   (layer.trainable_weights, layer.non_trainable_weights)]  # fmt: skip
        expected = [TRAINED[name], FIXED.get(name, 0)]
        assert counted == expected, f"trained and fixed parameters by the formulas: {expected}, in the layer: {counted}"


def main(names):
    """Print, as one line of JSON, what is wrong with each case: nothing, or a traceback."""
    problems = {}
    for name in names:
        start = time.process_time()
        try:
            run(name)
            problems[name] = None
        except Exception:
            problems[name] = traceback.format_exc()
        print(f"{time.process_time() - start:6.2f} s  {name}", file=sys.stderr)
    print(json.dumps(problems))


if __name__ == "__main__":
    main(sys.argv[1:])
