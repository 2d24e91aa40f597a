"""Names that Keras has, and that a layer or a model of one's own must not give another meaning.

A method may stand in the place of Keras' own where it can be called in every way in which that can be called. What
Keras marks as a default, such as `build`, is there to be replaced. Anything else, such as the property `path`, is
Keras' own.
"""

import inspect

import keras

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
