"""One place where names enter Keras' registry, so that no two classes can claim the same one.

What a constructor is given stands in the config of every registered class, and is named in its signature alone.
"""

import functools
import inspect

import keras
from keras import saving
from keras.layers import Layer

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
    holder = keras.saving.get_registered_object(name)
    if holder is not None and (holder.__module__, holder.__qualname__) != (cls.__module__, cls.__qualname__):
        raise ValueError(
            f"The name {name!r} is already registered by {holder.__module__}.{holder.__qualname__}; "
            f"{cls.__module__}.{cls.__qualname__} needs a name of its own."
        )
    return keras.saving.register_keras_serializable(package)(cls)


OF_KERAS = inspect.signature(Layer.__init__).parameters


def keeps_arguments(cls):
    """The class, whose configs have every argument of its constructor, as the attribute of the same name has it.

    A layer, or a list of layers, is written as Keras writes it, and read again, unless the class has a `from_config` of
    its own. What its own `get_config` says goes before. A subclass has the arguments of its base, too, which it may
    take by `**kwargs`; one that decides an argument of its base itself takes it out in its `get_config`. A file that
    was written before a class had an argument says nothing of it, and the default is taken.
    """
    cls.get_config = _with_arguments(cls, cls.get_config)
    if cls.from_config.__module__.startswith("keras."):
        cls.from_config = classmethod(_with_layers(cls, cls.from_config.__func__))
    return cls


def _arguments(cls):
    parameters = list(inspect.signature(cls.__init__).parameters.values())[1:]
    return [each.name for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD and each.name not in OF_KERAS]


def _with_arguments(owner, get_config):
    @functools.wraps(get_config)
    def wrapped(self):
        names = dict.fromkeys([*_arguments(owner), *_arguments(type(self))])
        own = {name: _serialize(getattr(self, name)) for name in names if name in dir(self)}
        return {**own, **get_config(self)}

    wrapped._is_default = False  # Keras' own, which would write a config of what it saw the constructor take
    return wrapped


def _with_layers(owner, from_config):
    @functools.wraps(from_config)
    def wrapped(cls, config, *args, **kwargs):
        own = {*_arguments(owner), *_arguments(cls)}
        return from_config(
            cls, {name: _deserialize(each) if name in own else each for name, each in config.items()}, *args, **kwargs
        )

    return wrapped


def _serialize(value):
    if isinstance(value, list | tuple) and any(isinstance(each, Layer) for each in value):
        return [_serialize(each) for each in value]
    return saving.serialize_keras_object(value) if isinstance(value, Layer) else value


def _deserialize(value):
    if isinstance(value, list):
        return [_deserialize(each) for each in value]
    return saving.deserialize_keras_object(value) if isinstance(value, dict) and "class_name" in value else value
