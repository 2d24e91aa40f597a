"""Tables for layers of others (`zoo.register`): made of what their constructors take."""

import functools
import inspect
from typing import Annotated, Any

import msgspec

from zoo.core import occupants
from zoo.settings.kinds import Doc
from zoo.settings.layers import Blocks, Layer

IN_BLOCKS = ("attention", "feedforward")


def tables(slot, needs):
    """The tables of the layers of others in a slot that do what is needed, and `{name: why not}` of the rest.

    Args:
        slot: the name of the slot.
        needs: names of the traits that the model asks for, such as ("causal", "steps").
    """
    fit, reasons = [], {}
    for name, cls in occupants.occupants(slot).items() if slot in occupants.SLOTS else ():
        traits = occupants.traits_of(slot, cls)  # None: the model asks the layer
        lacking = [need for need in needs if traits is not None and not vars(traits).get(need, True)]
        if lacking:
            whose = occupants.full_name(cls)
            reasons[name] = f"this model needs {' and '.join(lacking)}, which {whose} does not declare in its traits"
        else:
            fit.append(_table(slot, name, cls))
    return fit, reasons


@functools.cache  # one table for one class, so that equal recipes are equal
def _table(slot, name, cls):
    own = []
    for setting, (default, annotation) in occupants.settings_of(cls).items():
        kind = annotation if annotation is not None else type(default) if default is not None else Any
        own.append((setting, Annotated[kind, Doc(f"a setting of {occupants.full_name(cls)}")], default))
    if slot in IN_BLOCKS:
        own.append(("blocks", Blocks, None))
    takes = tuple(each for each in occupants.arguments(cls) if each in occupants.SHARED)
    namespace = {"takes": takes, "maker": cls, "__doc__": inspect.getdoc(cls) or ""}
    options = {"tag": name, "tag_field": "layer", "frozen": True, "kw_only": True}
    return msgspec.defstruct(cls.__name__, own, bases=(Layer,), namespace=namespace, **options)
