"""One place where names enter Keras' registry, so that no two classes can claim the same one."""

import keras

from zoo.core.composed import keeps_arguments
from zoo.core.quantized import keeps_quantized

PACKAGE = "zoo"


def register(cls):
    """Register `cls` as `zoo>ClassName`; the name is then found by `keras.models.load_model` after `import zoo`.

    Raises:
        ValueError: another class already holds the name (Keras would overwrite it silently).
    """
    return register_as(PACKAGE, cls)


def register_as(package, cls):
    """The same as `package>ClassName`; a class that Keras knows by a name of its own keeps that."""
    keeps_quantized(keeps_arguments(cls))
    if keras.saving.get_registered_object(keras.saving.get_registered_name(cls)) is cls:
        return cls
    name = f"{package}>{cls.__name__}"
    taken = keras.saving.get_registered_object(name)
    if taken is not None and (taken.__module__, taken.__qualname__) != (cls.__module__, cls.__qualname__):
        raise ValueError(
            f"The name {name!r} is already registered by {taken.__module__}.{taken.__qualname__}; "
            f"{cls.__module__}.{cls.__qualname__} needs a name of its own."
        )
    return keras.saving.register_keras_serializable(package)(cls)
