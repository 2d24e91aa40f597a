"""Whether a layer has an ONNX form that answers alike.

`zoo` knows nothing of `serving`, which may not be installed with what it needs. So this file alone names a module of
it, at the moment when somebody asks (`tests/house_rules.py` says so, too).
"""

import importlib

import numpy as np
from keras import tree

from zoo.check import laws
from zoo.check.uses import NotApplicable
from zoo.core.signatures import Signature, TensorSpec

CONVERTER = "serving.export.onnx.convert"


def check_onnx(built):
    """Each case is converted with dynamic sizes, and answers in onnxruntime what the layer does, for several sizes."""
    try:
        convert = importlib.import_module(CONVERTER)
    except ImportError as error:
        raise NotApplicable(f"{error.name} is not installed: pip install 'seqzoo[export]'") from error
    for each in built:
        _check(each, convert)


def _check(built, convert):
    case, names = built.case, list(laws.flat_arguments(built))

    def run(**inputs):
        outputs = tree.flatten(case.apply(built.layer, {name: inputs[name] for name in names}))
        return {f"output_{index}": output for index, output in enumerate(outputs)}

    given = [case.arguments(rows, time, 0) for rows, time in ((laws.ROWS[:2], 5), (laws.ROWS, 7))]
    inputs = _specs(*given)
    outputs = _specs(*({name: np.asarray(leaf) for name, leaf in run(**each).items()} for each in given))
    try:
        model = convert.convert(run, Signature("layer", inputs, outputs))
    except convert.ConversionError as error:
        raise AssertionError(str(error)) from error
    session = convert.load(model)
    for rows, time in ((laws.ROWS, 5), *laws.SIZES[1:]):
        received = session.run([spec.name for spec in outputs], case.arguments(rows, time, 0))
        laws.assert_close(received, built.run(rows, time), 1e-4, 1e-4)


def _specs(small, large):
    """`TensorSpec`s of two examples, of which no axis has the same size where it is dynamic."""

    def axis(name, index, one, other):
        return one if one == other else "batch" if index == 0 else f"{name}_{index}"

    return tuple(
        TensorSpec(
            name,
            str(np.asarray(one).dtype),
            tuple(
                axis(name, index, *sizes) for index, sizes in enumerate(zip(one.shape, large[name].shape, strict=True))
            ),
        )
        for name, one in small.items()
    )
