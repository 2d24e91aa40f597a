"""The contract battery's law of Keras' `quantize`: what it made of the layers inside is in a file and in a config."""

import json
import tempfile
from pathlib import Path

import keras

from zoo.check.laws import SMALLEST, Built, assert_close, flat_arguments, functional, numpy_leaves

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
    copy = Built(built.case, built.case.make())
    copy.run(*SMALLEST)
    copy.layer.set_weights(built.layer.get_weights())
    return copy if quantize(copy.layer, mode) else None


def check(built):
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
