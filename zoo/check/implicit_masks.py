"""The contract battery's law of implicit masks: the mask that `keras.layers.Masking` attaches to a tensor is obeyed."""

import inspect

import keras
import numpy as np
from keras import tree

from zoo.check.laws import ROWS, assert_close, dynamic_specs, length_mask, named, numpy_leaves, symbolic_inputs, valid
from zoo.core.masks import ImplicitMasks


def names(layer):
    """The masks that a layer's `call` takes."""
    parameters = inspect.signature(layer.call).parameters
    return [name for name in parameters if name == "mask" or name.endswith("_mask")]


def with_implicit_masks(case):
    """`(arguments, masks)`: sequences whose padding is 0, so that `Masking` sees it; no mask is among the arguments."""
    given, masks = case.arguments(ROWS, 5, 0), {}
    given = {name: array for name, array in given.items() if not name.endswith("mask")}
    for name, array in given.items():
        if isinstance(array, np.ndarray) and array.ndim == 3 and array.dtype.kind == "f":
            masks[name] = length_mask(ROWS, array.shape[1])
            given[name] = np.where(masks[name][:, :, None], array, 0.0)
    return given, masks


def implicitly(case, layer, arguments, masks):
    """The layer behind `keras.layers.Masking` of each sequence: nobody names a mask, Keras hands them over."""
    masked = {name: keras.layers.Masking(name=f"{name}_masking")(arguments[name]) for name in masks}
    return case.apply(layer, {**arguments, **masked})


def implicit_model(built):
    """As a functional model: `(model, inputs, masks)`."""
    arguments, masks = with_implicit_masks(built.case)
    specs = {name: spec for name, spec in dynamic_specs(built.case).items() if name in arguments}
    inputs, nested = symbolic_inputs(specs)
    outputs = implicitly(built.case, built.layer, nested, masks)
    return keras.Model(inputs, outputs), arguments, masks


def pack(built, folder):
    """For a process elsewhere: the model, its inputs, and what it gives here."""
    model, arguments, _ = implicit_model(built)
    model.save(folder / f"implicit-{built.case.name}.keras")
    np.savez(folder / f"implicit-{built.case.name}.npz", **named(arguments))
    np.savez(folder / f"implicit-{built.case.name}.expected", *numpy_leaves(model(named(arguments))))


def check_elsewhere(built, folder, backend):
    answers, expected = (np.load(folder / f"implicit-{built.case.name}.{kind}.npz") for kind in (backend, "expected"))
    assert_close([answers[name] for name in answers.files], [expected[name] for name in expected.files])


def check(built):
    """Keras' implicit masks do what explicit ones do, eagerly and in a functional model, and are handed on.

    A layer that takes none (each position by itself, or only from earlier ones) may only hand it on, and its valid
    positions must not care. One that can do neither says so: Keras warns, and warnings are errors.
    """
    case, layer = built.case, built.layer
    if isinstance(layer, keras.Model) or not layer.supports_masking:
        assert isinstance(layer, keras.Model) or not names(layer), "it takes a mask: supports_masking = True"
        return
    model, arguments, masks = implicit_model(built)
    first = length_mask(ROWS, next(iter(arguments.values())).shape[1])
    results = [implicitly(case, layer, arguments, masks), model(named(arguments))]
    for outputs in map(tree.flatten, results):
        for index, (_, length) in enumerate(ROWS):
            for one, other in zip(
                valid(numpy_leaves(outputs), index, length), valid(built.outputs, index, length), strict=True
            ):
                told = "a mask of Keras does not do what an explicit one does: see zoo.core.masks.ImplicitMasks"
                np.testing.assert_allclose(one, other, 1e-5, 1e-5, err_msg=told)
    for output in tree.flatten(results[0]):
        handed_on = getattr(output, "_keras_mask", None)
        if len(output.shape) == 3 and output.shape[1] == first.shape[1]:
            np.testing.assert_array_equal(handed_on, first)
        else:
            assert handed_on is None, "an output without a time has no mask"
    symbolic = [getattr(output, "_keras_mask", None) is None for output in model.outputs]
    assert symbolic == [getattr(output, "_keras_mask", None) is None for output in tree.flatten(results[0])]
    parameters = list(inspect.signature(layer.call).parameters)
    if isinstance(layer, ImplicitMasks) and parameters[1:2] == ["mask"] and len(masks) == 1:
        (x,) = (keras.layers.Masking()(arguments[name]) for name in masks)
        assert_close(numpy_leaves(layer(x, None)), numpy_leaves(layer(x)), 0, 0)
