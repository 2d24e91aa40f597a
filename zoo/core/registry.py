"""What registered classes share: names in Keras' registry, what their configs keep, and parts that are built once.

Names enter the registry here alone, so that no two classes can claim the same one. What a constructor is given stands
in the config of every registered class, and is named in its signature alone.

Layers that a layer makes itself keep the precision that Keras' `quantize` gave them, in a config and in a file.
`model.quantize("int8")` changes each `Dense` and `Embedding`, however deep inside: its dtype policy, its variables, and
its configuration of quantizers. A layer that was given to another one stands in that one's config and says so itself.
Of those that a constructor or `build` makes, the config of their maker says it, and `from_config` tells the new ones
before they are built, so that they are built with the variables that a file holds.

Keras' own layers do this with a `DTypePolicyMap`, whose keys are the layers' paths. A path is another one after a file
was read, where a layer has no name of its own or is built outside the model (docs/inside-keras.md). So the keys here
are places in the order in which layers are made. A `DTypePolicyMap` that somebody gives as `dtype` is handed on as it
is.
"""

import functools
import inspect

import keras
from keras import dtype_policies, saving
from keras.layers import Layer

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


def build_parts(parts, *shapes):
    """Build layers of a layer for inputs of these shapes, but for None and for those that are built already.

    One that comes out of a file is, and so is one that another method has called first, as `project` of an attention.
    """
    for part in parts:
        if part is not None and not part.built:
            part.build(*(shape and tuple(shape) for shape in shapes))


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


ENTRY = "quantized"  # of a config, and only where something is


def keeps_quantized(cls):
    """The class, whose configs and copies know from now on what is quantized inside."""
    if issubclass(cls, keras.layers.Layer):
        cls.get_config = _with_entry(cls.get_config)
        cls.from_config = classmethod(_without_entry(cls.from_config.__func__))
        if cls.build not in (keras.layers.Layer.build, keras.Model.build):
            cls.build = _with_policies(cls.build)
    return cls


def _with_entry(get_config):
    @functools.wraps(get_config)
    def wrapped(self):
        entries = {**_quantized_inside(self), **_pending(self)}
        return {**get_config(self), **({ENTRY: entries} if entries else {})}

    return wrapped


def _without_entry(from_config):
    @functools.wraps(from_config)
    def wrapped(cls, config, *args, **kwargs):
        layer = from_config(cls, {name: value for name, value in config.items() if name != ENTRY}, *args, **kwargs)
        if config.get(ENTRY):
            _tell(layer, config[ENTRY])
        return layer

    return wrapped


def _with_policies(build):
    @functools.wraps(build)
    def wrapped(self, *args, **kwargs):
        build(self, *args, **kwargs)
        if _pending(self):
            _tell(self, _pending(self))

    return wrapped


def made_inside(layer):
    """`{place: layer}` of the layers inside that are not among what the constructor was given, or inside of that."""
    own = [cls for cls in type(layer).__mro__ if "__init__" in vars(cls) and not cls.__module__.startswith("keras.")]
    names = {name for cls in own for name in inspect.signature(cls.__init__).parameters} & set(dir(layer))
    skipped = {id(each) for name in names for each in _leaves(getattr(layer, name))}
    inside = {}

    def walk(parent, place):
        for index, child in enumerate(parent._flatten_layers(include_self=False, recursive=False)):
            if id(child) not in skipped:
                skipped.add(id(child))
                inside[f"{place}{index}"] = child
                walk(child, f"{place}{index}/")

    walk(layer, "")
    return inside


def _leaves(value):
    if isinstance(value, dict):
        value = list(value.values())
    return [leaf for each in value for leaf in _leaves(each)] if isinstance(value, list | tuple) else [value]


def _quantized_inside(layer):
    """`{place: its policy and its configuration of quantizers}`, as JSON has it."""
    return {
        place: {
            "dtype": dtype_policies.serialize(each.dtype_policy),
            "quantization_config": saving.serialize_keras_object(vars(each).get("quantization_config")),
        }
        for place, each in made_inside(layer).items()
        if each.quantization_mode is not None and not isinstance(each.dtype_policy, dtype_policies.DTypePolicyMap)
    }


def _pending(layer):
    """What is known of layers inside that are not made yet."""
    return vars(layer).get("_quantized_later", {})


def _tell(layer, entries):
    """Give the layers inside their policies; those that `build` is still to make wait for it."""
    inside, later = made_inside(layer), {}
    for place, entry in entries.items():
        if place not in inside:
            later[place] = entry
            continue
        each = inside[place]
        config = saving.deserialize_keras_object(entry["quantization_config"])
        policy = dtype_policies.get(entry["dtype"])
        if each.built and each.quantization_mode is None:
            each.quantize(policy.quantization_mode, type_check=False, config=config)
        else:
            each.dtype_policy = policy
            if config is not None:
                each.quantization_config = config
    layer._quantized_later = later
