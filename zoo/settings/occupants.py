"""Layers of one's own in the slots: registered by a decorator, and brought by a module or by an installed package.

    @zoo.register("attention", name="mine")
    class MyAttention(keras.layers.Layer): ...

A recipe names it then as it names the zoo's own (`attention.layer = "mine"`), and its table is filled as theirs are.
This file imports no framework, so that recipes can be read without one; `docs/own-layers.md` says what a layer must do.
"""

import contextlib
import functools
import importlib
import importlib.metadata
import importlib.util
import inspect
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from zoo.core import protocols
from zoo.core.later import later
from zoo.settings import declared, entrance, layers
from zoo.settings.slots import PARTS, SHARED, WHY_NOT, Layer, make_table

keras = later("keras")
registry = later("zoo.core.registry")

GROUP = "seqzoo.layers"  # of entry points, whose values are modules
SLOTS = {
    "attention": protocols.Attention,
    "feedforward": protocols.FeedForward,
    "block": protocols.Block,
    "depth": protocols.Depth,
    "positions": protocols.Positions,
    "embedding": protocols.Embedding,
}
OF_KERAS = "activity_regularizer trainable dtype autocast name".split()
# What is always given to `call` by name, and what only where the traits say so.
CALLED_WITH = {
    "attention": (("value_mask", "causal", "training"), {"crosses": ("value",), "steps": ("cache",)}),
    "feedforward": (("training",), {"uses_mask": ("mask",)}),
    "block": (("mask", "memory", "memory_mask", "causal", "training"), {}),
    "depth": (("mask", "memory", "memory_mask", "causal", "training"), {"summarises": ("summary",)}),
    "positions": (("mask",), {}),
    "embedding": (("training",), {"gathers": ("mask",)}),
}

_Layer = TypeVar("_Layer", bound=type)
_occupants: dict[str, dict[str, type]] = {
    slot: {} for slot in SLOTS
}  # as Keras' own registry, it lives as long as the process


def register(slot: str, name: str) -> Callable[[_Layer], _Layer]:
    """A decorator that puts a Keras layer into a slot, and into Keras' registry as `PACKAGE>ClassName`.

    `PACKAGE` is the first part of the class's module, unless Keras knows the class already.

    Args:
        slot: one of `SLOTS`.
        name: what recipes call it: small letters, digits and underscores.

    Raises:
        ValueError: an unknown slot, a name that is taken, or a class that cannot stand in the slot: the message names
            everything that can be told without making a layer; `python -m zoo.check` tells the rest.
    """
    if slot not in SLOTS:
        raise ValueError(f"Unknown slot: expected one of {list(SLOTS)}, received {slot!r}.")
    if not isinstance(name, str) or not re.fullmatch("[a-z][a-z0-9_]*", name):
        raise ValueError(
            f"Recipes call a layer by small letters, digits and underscores, such as 'linear'. Received: name={name!r}."
        )

    def put(cls: _Layer) -> _Layer:
        problems = find_problems(slot, cls)
        if problems:
            raise ValueError(
                f"{cls.__module__}.{cls.__qualname__} cannot stand in the slot {slot!r}: {'; '.join(problems)}. "
                "docs/own-layers.md has a template, and `python -m zoo.check MODULE.CLASS` checks the rest."
            )
        holder, taken = _occupants[slot].get(name), {"none", *(each.__struct_config__.tag for each in own_tables(slot))}
        if name in taken or (holder is not None and full_name(holder) != full_name(cls)):
            whose = f"of {full_name(holder)}" if holder is not None else "of a layer of the zoo"
            raise ValueError(
                f"{full_name(cls)} cannot be called {name!r} in the slot {slot!r}: that is the name {whose}. Choose "
                f"another; taken are {sorted({*taken, *_occupants[slot]})}."
            )
        registry.register_as(cls.__module__.partition(".")[0], cls)
        _occupants[slot][name] = cls
        return cls

    return put


def full_name(cls):
    return f"{cls.__module__}.{cls.__qualname__}"


def occupants(slot):
    """`{name: class}` of the layers of others in a slot, as far as their modules are imported (`import_modules`)."""
    return dict(_occupants[slot])


def own_tables(slot):
    """The tables of the zoo's own layers of a slot, in the order in which they are listed."""
    tables = [each for module in (layers, entrance) for each in vars(module).values() if isinstance(each, type)]
    return [each for each in tables if issubclass(each, Layer) and each.slot == slot]


def fitting_tables(slot, needs):
    """The tables of the zoo's own layers that meet the needs of a model, `{trait: wanted}`, the default first."""
    writes = needs.get("writes", False)
    return tuple(each for each in own_tables(slot) if each.writes in (None, writes) and not each.unmet(needs))


def fitting_others(slot, needs):
    """As `fitting_tables`, of the layers of others."""
    return tuple(each for each in _tables_of_others(slot) if not each.unmet(needs))


def reasons(slot, needs):
    """`{name: why}` of the layers of a slot that do not meet the needs of a model."""
    layers = [(each, each.__struct_config__.tag, "") for each in own_tables(slot)]
    layers += [(each, full_name(each.source), ", as its traits say") for each in _tables_of_others(slot)]
    return {
        each.__struct_config__.tag: WHY_NOT[need].format(name) + source
        for each, name, source in layers
        if (need := each.unmet(needs))
    }


def _tables_of_others(slot):
    return [_make_table(slot, name, cls) for name, cls in _occupants.get(slot, {}).items()]


@functools.cache  # one table for one class, so that equal recipes are equal
def _make_table(slot, name, cls):
    settings = settings_of(cls, filled=())
    about = dict.fromkeys(settings, f"a setting of {full_name(cls)}") | declared.meanings_of(inspect.getdoc(cls) or "")
    traits = traits_of(slot, cls)  # None: the model asks the layer
    plain = type(cls.__name__, (), {"__doc__": inspect.getdoc(cls), "__module__": cls.__module__})
    declaration = declared.Declared(settings, about, {} if traits is None else vars(traits))
    return make_table(plain, slot, name, cls, declaration)


def settings_of(cls, filled=(*SHARED, *PARTS)):
    """`{name: (default, annotation)}` of the settings that are the class's own; the annotation is None without one.

    Those are the arguments of its constructor without those that a recipe or the layer around fills.
    """
    return {
        name: (each.default, None if each.annotation is each.empty else each.annotation)
        for name, each in arguments(cls).items()
        if name not in filled
    }


def traits_of(slot, cls):
    """What the class declares in `traits`, or the defaults of its slot; None where a property says it of each layer."""
    declared = inspect.getattr_static(cls, "traits", None)
    return SLOTS[slot]() if declared is None else None if isinstance(declared, property) else declared


def arguments(cls):
    """`{name: parameter}` of a constructor, without `*args` and `**kwargs`, and without what is Keras' own."""
    parameters = list(inspect.signature(cls.__init__).parameters.values())[1:]
    starred = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
    return {each.name: each for each in parameters if each.kind not in starred and each.name not in OF_KERAS}


def find_problems(slot, cls):
    """What keeps a class out of a slot, as far as the class alone tells; nothing of a layer is made."""
    if not (isinstance(cls, type) and issubclass(cls, keras.layers.Layer)):
        return ["expected a class that derives from keras.layers.Layer"]
    kinds = {each.kind for each in inspect.signature(cls.__init__).parameters.values()}
    problems = []
    if inspect.Parameter.VAR_KEYWORD not in kinds or inspect.Parameter.VAR_POSITIONAL in kinds:
        problems.append("its constructor must name its arguments and take **kwargs, which go to Keras (name, dtype)")
    without = [name for name, (default, _) in settings_of(cls).items() if default is inspect.Parameter.empty]
    if without:
        problems.append(f"settings of its own need a default, so that a recipe may leave them out: {without} have none")
    traits = traits_of(slot, cls) or SLOTS[slot]()
    if not isinstance(traits, SLOTS[slot]):
        return [*problems, f"its traits must be a zoo.core.protocols.{SLOTS[slot].__name__}, and are {traits!r}"]
    return problems + find_method_problems(slot, cls, traits)


def find_method_problems(slot, layer, traits):
    """What a layer, or its class, lacks of what its slot and its traits ask for."""
    always, sometimes = CALLED_WITH[slot]
    names = [*always, *(name for trait, more in sometimes.items() if vars(traits)[trait] for name in more)]
    parameters = inspect.signature(layer.call).parameters
    takes_all = any(each.kind is each.VAR_KEYWORD for each in parameters.values())
    lacking = [name for name in names if name not in parameters and not takes_all]
    absent = [name for name in traits.methods() if inspect.getattr_static(layer, name, None) is None]
    problems = [f"call must take {', '.join(lacking)}, which are given by name"] if lacking else []
    return problems + ([f"{traits!r} promises the methods {', '.join(absent)}"] if absent else [])


def import_modules(modules=()):
    """Import the modules that a user asks for, and those of installed packages (entry points `seqzoo.layers`).

    A module is looked for where Python looks, and last of all in the working folder.

    Raises:
        ValueError: a module is not found, its import fails, or it takes a name that is taken.
    """
    for name in modules:
        if name.endswith(".py") or not all(each.isidentifier() for each in name.split(".")):
            raise ValueError(
                f"{name!r} is not the name of a module, which has neither a folder nor .py. Ask for "
                f"{Path(name).name.removesuffix('.py').strip('.')!r}, and work in the folder that holds it."
            )
        with contextlib.suppress(ModuleNotFoundError, ValueError):  # of a package above it; the import below says so
            if importlib.util.find_spec(name) is None and os.getcwd() not in sys.path:
                sys.path.append(os.getcwd())
        _import(
            name,
            f"The module {name!r}",
            "Expected one that Python finds: install it (`pip install -e .`), or work in the folder that holds it.",
        )
    for point in _entry_points(tuple((folder, _time_of_change(folder)) for folder in sys.path)):
        package = point.dist.name if point.dist is not None else "a package"
        _import(
            point.module,
            f"The module {point.module!r}, which {package} brings to seqzoo (entry point {point.name!r})",
            f"Mend or uninstall {package}.",
        )


def import_installed(modules):
    """Import the modules that a recipe names, but installed ones alone, because the user has not asked for them.

    A module is a program, and a recipe and the folder that it is used in may both come from somebody else. So none is
    taken from the working folder; `import_modules` takes it from there.

    Raises:
        ValueError: as of `import_modules`; the message says how to ask for a module.
    """
    for name in modules:
        with _without_working_folder():
            _import(
                name,
                f"The recipe names the module {name!r}, which",
                "A module that a recipe names is imported where it is installed (`pip install -e .`). One in the "
                f"working folder is imported only if you ask for it: --import {name}, from Python imports=[{name!r}].",
            )


@contextlib.contextmanager
def _without_working_folder():
    path, working_folder = sys.path[:], os.path.realpath(os.getcwd())
    sys.path[:] = [each for each in path if os.path.realpath(each or ".") != working_folder]
    try:
        yield
    finally:
        sys.path[:] = path


@functools.lru_cache(maxsize=1)  # to read them takes milliseconds, and every recipe that is read asks
def _entry_points(folders):
    """The entry points of the group that packages in these folders have; a folder changes when one is installed."""
    return tuple(importlib.metadata.entry_points(group=GROUP))


def _time_of_change(folder):
    """When a folder was last changed, or None if it is not there."""
    try:
        return os.stat(folder or ".").st_mtime_ns
    except OSError:
        return None


def _import(name, what, mend):
    try:
        importlib.import_module(name)
    except Exception as error:
        absent = isinstance(error, ModuleNotFoundError) and f"{name}.".startswith(f"{error.name}.")
        if absent:
            raise ValueError(f"{what} was not found. {mend}") from error
        raise ValueError(f"{what} could not be imported. {type(error).__name__}: {error}") from error
