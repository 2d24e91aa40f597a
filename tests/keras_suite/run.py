"""Keras' own suite of tests over rows of the table. As a program it runs them all on the backend of its process."""

import json
import sys
import time
import traceback

import keras
import numpy as np
from keras import ops, tree
from keras.src.testing import TestCase

from tests.keras_suite.case import Suite


def run(case: Suite):
    """`run_layer_test` of one row, and its parameters counted."""
    if case.uncalled:
        TestCase().run_layer_test(case.make, {})
        return
    TestCase().run_layer_test(
        case.make,
        {},
        input_shape=case.shapes,
        input_dtype=case.dtypes,
        expected_output_shape=case.output,
        expected_num_trainable_weights=case.weights,
        expected_num_non_trainable_weights=case.fixed_weights,
        run_training_check=not (case.own_training or case.untrained),
        **case.settings,
    )
    layer = case.make()
    inputs, given = arrays(case), case.settings.get("call_kwargs", {})
    call(layer, inputs, given)
    counted = {kind: sum(int(np.prod(each.shape)) for each in weights(layer, kind)) for kind in ("trainable", "fixed")}
    expected = {"trainable": case.trainable, "fixed": case.fixed}
    assert counted == expected, f"parameters by the formulas: {expected}, in the layer: {counted}"
    if case.own_training:
        train(layer, inputs, given)


def weights(layer, kind):
    return layer.trainable_weights if kind == "trainable" else layer.non_trainable_weights


def arrays(case):
    """Inputs of the case's shapes, by the names of the arguments of `call` if there are several."""
    generator = np.random.default_rng(1)

    def array(shape, dtype):
        values = generator.normal(size=shape) if dtype == "float32" else generator.integers(0, 3, shape)
        return values.astype(dtype)

    if not isinstance(case.shapes, dict):
        return array(case.shapes, case.dtypes or "float32")
    dtypes = case.dtypes or dict.fromkeys(case.shapes, "float32")
    return {name.removesuffix("_shape"): array(shape, dtypes[name]) for name, shape in case.shapes.items()}


def call(layer, inputs, given, **more):
    return layer(**inputs, **given, **more) if isinstance(inputs, dict) else layer(inputs, **given, **more)


def train(layer, inputs, given):
    """One step of `fit`, compiled, of the sum of all outputs; some weight must move."""

    class Trained(keras.Model):
        def __init__(self):
            super().__init__()
            self.layer = layer

        def call(self, inputs, training=False):
            outputs = tree.flatten(call(self.layer, inputs, given, training=training))
            return ops.stack([ops.sum(ops.cast(each, "float32")) for each in outputs])[None]

    model = Trained()
    model.compile(optimizer="sgd", loss=lambda labels, outputs: ops.sum(outputs))
    before = layer.get_weights()
    batch = len(tree.flatten(inputs)[0])
    model.fit(inputs, np.zeros((batch, 1), "float32"), batch_size=batch, verbose=0)
    moved = [not np.array_equal(one, other) for one, other in zip(before, layer.get_weights(), strict=True)]
    assert any(moved) or not layer.trainable_weights, "a step of training moved no weight"


def main(names):
    """Print, as one line of JSON, what is wrong with each case: nothing, or a traceback."""
    from tests.keras_suite.table import CASES

    found = {}
    for case in CASES:
        if not names or case.name in names:
            start = time.process_time()
            try:
                run(case)
                found[case.name] = None
            except Exception:
                found[case.name] = traceback.format_exc()
            print(f"{time.process_time() - start:6.2f} s  {case.name}", file=sys.stderr)
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1:])
