"""One place where names enter Keras' registry, so that no two classes of the zoo can claim the same one."""

import keras

PACKAGE = "zoo"


def register(cls):
    """Register `cls` as `zoo>ClassName`; the name is then found by `keras.models.load_model` after `import zoo`.

    Raises:
        ValueError: another class already holds the name (Keras would overwrite it silently).
    """
    name = f"{PACKAGE}>{cls.__name__}"
    taken = keras.saving.get_registered_object(name)
    if taken is not None and (taken.__module__, taken.__qualname__) != (cls.__module__, cls.__qualname__):
        raise ValueError(
            f"The name {name!r} is already registered by {taken.__module__}.{taken.__qualname__}; "
            f"{cls.__module__}.{cls.__qualname__} needs a name of its own."
        )
    return keras.saving.register_keras_serializable(PACKAGE)(cls)
