"""The contract battery's laws about Keras itself: masks that it hands over, its `quantize`, and its names.

The mask that `keras.layers.Masking` attaches to a tensor is obeyed. What `quantize` made of the layers inside is in a
file and in a config. And a layer or a model of one's own gives no name of Keras another meaning: a method may stand in
the place of Keras' own where it can be called in every way in which that can be called. What Keras marks as a default,
such as `build`, is there to be replaced. Anything else, such as the property `path`, is Keras' own.
"""

import inspect
import json
import tempfile
from pathlib import Path

import keras
import numpy as np
from keras import tree

from zoo.check.laws import (
    ROWS,
    Built,
    assert_close,
    copied,
    dynamic_specs,
    flat_arguments,
    functional,
    length_mask,
    named,
    numpy_leaves,
    symbolic_inputs,
    valid,
)
from zoo.core.masks import ImplicitMasks


def mask_names(layer):
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


def pack_implicit_masks(built, folder):
    """For a process elsewhere: the model, its inputs, and what it gives here."""
    model, arguments, _ = implicit_model(built)
    model.save(folder / f"implicit-{built.case.name}.keras")
    np.savez(folder / f"implicit-{built.case.name}.npz", **named(arguments))
    np.savez(folder / f"implicit-{built.case.name}.expected", *numpy_leaves(model(named(arguments))))


def check_implicit_masks_elsewhere(built, folder, backend):
    answers, expected = (np.load(folder / f"implicit-{built.case.name}.{kind}.npz") for kind in (backend, "expected"))
    assert_close([answers[name] for name in answers.files], [expected[name] for name in expected.files])


def check_implicit_masks(built):
    """Keras' implicit masks do what explicit ones do, eagerly and in a functional model, and are handed on.

    A layer that takes none (each position by itself, or only from earlier ones) may only hand it on, and its valid
    positions must not care. One that can do neither says so: Keras warns, and warnings are errors.
    """
    case, layer = built.case, built.layer
    if isinstance(layer, keras.Model) or not layer.supports_masking:
        assert isinstance(layer, keras.Model) or not mask_names(layer), "it takes a mask: supports_masking = True"
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


MODES = ("int8", "int4", "float8")


def quantize(layer, mode):
    """Every layer inside that Keras can quantize in this mode, as `keras.Model.quantize` does; how many there are."""
    count = 0
    for each in [one for one in layer._flatten_layers() if len(list(one._flatten_layers())) == 1]:
        try:
            each.quantize(mode)
            count += 1
        except NotImplementedError:  # Keras has no such form of it
            continue
    return count


def quantized(built, mode):
    """A copy of the layer that is quantized; None where Keras has nothing to quantize in it."""
    copy = copied(built)
    return copy if quantize(copy.layer, mode) else None


def check_quantized(built):
    """In each mode a file of the quantized layer answers as it does, bit for bit, and a copy's config is the same."""
    for mode in MODES:
        copy = quantized(built, mode)
        if copy is None:
            continue
        model, inputs = functional(copy)[0], flat_arguments(copy)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "quantized.keras"
            model.save(path)
            loaded = keras.models.load_model(path, safe_mode=True)
        assert_close(numpy_leaves(loaded(inputs)), numpy_leaves(model(inputs)), 0, 0)
        written = json.dumps(keras.saving.serialize_keras_object(copy.layer))
        twin = Built(built.case, keras.saving.deserialize_keras_object(json.loads(written)))
        assert json.dumps(keras.saving.serialize_keras_object(twin.layer)) == written, f"{mode}: another config"


STARRED = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def _is_own(base):
    """Whether a class is somebody's own, and not one of Keras or of what Keras derives from."""
    return base.__module__.partition(".")[0] not in ("keras", "tensorflow", "torch", "jax", "abc", "builtins")


def meaning_in_keras(cls, name):
    """What the name stands for in the Keras classes from which a class derives; None where it stands for nothing."""
    return next((vars(base)[name] for base in cls.__mro__ if not _is_own(base) and name in vars(base)), None)


def hidden_names(cls):
    """`{name: the class that defines it}` of what Keras has in the bases of `cls`, and others gave another meaning."""
    hidden = {}
    for base in filter(_is_own, cls.__mro__):
        for name, own in vars(base).items():
            of_keras = None if name.startswith("_") else meaning_in_keras(cls, name)
            if of_keras is not None and not _replaces(own, of_keras):
                hidden.setdefault(name, base)
    return hidden


def hiding_attributes(layer):
    """The attributes of a layer that hide what Keras has in its class, but for those that Keras gives every layer."""
    of_every_layer = vars(keras.Model())
    own = [name for name in vars(layer) if not name.startswith("_") and name not in of_every_layer]
    return sorted(name for name in own if meaning_in_keras(type(layer), name) is not None)


def _replaces(own, of_keras):
    """Whether a method takes every call that another takes: its optional arguments by their names, others by place."""
    if not (inspect.isfunction(own) and inspect.isfunction(of_keras)):
        return isinstance(own, classmethod) and isinstance(of_keras, classmethod)
    mine, other = ([*inspect.signature(each).parameters.values()] for each in (own, of_keras))
    if vars(of_keras).get("_is_default") or any(each.kind is each.VAR_POSITIONAL for each in other):
        return True
    needed, given = (
        [each for each in side if each.default is each.empty and each.kind not in STARRED] for side in (mine, other)
    )
    optional = {each.name for each in other if each.default is not each.empty}
    takes_any_name = any(each.kind is each.VAR_KEYWORD for each in mine)
    return len(needed) <= len(given) and (takes_any_name or optional <= {each.name for each in mine})
