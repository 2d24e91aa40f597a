"""What two models compute with the same weights, compared by their configs: every setting that decides it.

A config (`get_config`) has all settings of a layer and of the layers in it, so nothing here knows of any layer. Left
out are sizes that count pieces or labels, and what is of the training alone.
"""

import re

import keras

# Layers compute with their weights alike, whatever these say: dropout, seeds, prices in the loss, values at the start.
OF_TRAINING = {"seed", "dropout", "alone", "initial_span", "max_offset", "penalty", "ponder", "resample", "spread"}
OF_EVERY_LAYER = set(keras.layers.Layer().get_config())  # its name, its dtype, whether it is trained
AT_THE_START = ("_initializer", "_regularizer", "_constraint")
NOTHING = "nothing"


def differences(old, new, larger, without=()):
    """`[(place, there, here)]` of the settings that decide what the weights of `old` compute in `new`.

    A place has * instead of numbers, so that what all blocks have is said once. A layer that only `new` has, such
    as one more block, is no difference: its weights are new, which is told.

    Args:
        old: the model whose weights are taken.
        new: the model that takes them.
        larger: the model of `new` with other vocabularies and labels; what differs there are sizes.
        without: attributes of the model whose weights are not taken, where it is of another task.
    """
    there, here, other = (dict(_settings(keras.saving.serialize_keras_object(each))) for each in (old, new, larger))
    if there[""] != here[""]:  # of another task: what both have is compared
        shared = {_top(place) for place in there} & {_top(place) for place in here} - {"", *without}
        there, here = (
            {place: value for place, value in each.items() if _top(place) in shared} for each in (there, here)
        )
    found = {}
    for place in sorted(there.keys() | here.keys()):
        values = there.get(place, NOTHING), here.get(place, NOTHING)
        sized = other.get(place) != here.get(place)
        if values[0] == values[1] or sized or _is_new(place, there, here):
            continue
        if not any(place.startswith(f"{each}.") for each in found):  # of other layers all settings are others
            found[place] = values
    return sorted({(re.sub(r"\b\d+\b", "*", place), *map(str, values)) for place, values in found.items()})


def _settings(value, place=""):
    """`(place, value)` of a serialised object: its class, and the settings of its config."""
    if isinstance(value, dict) and "class_name" in value:
        yield place, value["class_name"]
        value = value["config"]
    if isinstance(value, dict):
        for name, each in value.items():
            if name not in OF_TRAINING | OF_EVERY_LAYER and not name.endswith(AT_THE_START):
                yield from _settings(each, f"{place}.{name}" if place else name)
    elif isinstance(value, list | tuple):
        for number, each in enumerate(value):
            yield from _settings(each, f"{place}.{number}")
    elif place:
        yield place, value


def _top(place):
    return place.partition(".")[0]


def _is_new(place, there, here):
    """Whether a place lies in an element of a list, such as a block, that only the new model has."""
    names = place.split(".")
    starts = [".".join(names[: end + 1]) for end, name in enumerate(names) if name.isdigit()]
    return any(start in here and start not in there for start in starts)
