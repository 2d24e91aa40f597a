"""How weights of a finished run become those of a new model: which are taken, which are mapped, which are new."""

import dataclasses
import re

import keras
import numpy as np
from keras import ops

from zoo.core.layouts import check_patterns
from zoo.recipes.folder import Initial
from zoo.settings import table
from zoo.settings.training import BODY
from zoo.tasks.parts.building import build_model
from zoo.text import load_tokenizer
from zoo.training import named_weights
from zoo.training.selection import adapt, decay_factors, factors, freeze

FEW = 4  # weights that a message names
ANY_SIZE = 8  # of vocabularies and labels, where only the other sizes matter
LABELS, ALL = "labels", slice(None)
# Settings that do not change what a layer computes with its weights: dropout, seeds, penalties, initial values.
OF_TRAINING = {"seed", "dropout", "alone", "initial_span", "max_offset", "penalty", "ponder", "resample", "spread"}
OF_EVERY_LAYER = set(keras.layers.Layer().get_config())  # its name, its dtype, whether it is trained
AT_THE_START = ("_initializer", "_regularizer", "_constraint")
NOTHING = "nothing"


@dataclasses.dataclass(frozen=True)
class Takeover:
    """The weights and vocabularies that a training begins with.

    Attributes:
        initial: the `Initial`.
        weights: `{path: array}` of its model.
        tokenizers: `{side: Tokenizer}`.
        axes: `{path: (axis, what its length counts)}` of the weights of the new model that depend on a vocabulary (the
            name of its side) or on the labels.
        differences: the settings with which the weights would compute something else, see `find_differences`.
    """

    initial: Initial
    weights: dict
    tokenizers: dict
    axes: dict
    differences: list

    def keep_tokenizers(self, recipe):
        """The tokenizers of a recipe that keeps them; None where it learns its own."""
        if recipe.training.vocabulary == "map":
            return None
        return tuple(self.tokenizers[side] for side in recipe.job.sides)

    def body(self, paths):
        """Those paths of weights that were taken, without the layer whose outputs are labels."""
        heads = {path.partition("/")[0] for path, (_, counted) in self.axes.items() if counted == LABELS}
        return [path for path in paths if path in self.weights and path.partition("/")[0] not in heads]

    def take(self, recipe, model, tokenizers, labels):
        """Give a built model the weights that it shares with the initial one; returns a record of them.

        Pieces that both vocabularies have keep their rows. Other labels, or those of another task, have new weights.
        """
        rows = self._rows(recipe, tokenizers)
        if recipe.task == self.initial.recipe.task and labels == self.initial.labels:
            rows[LABELS] = ALL
        taken, new = [], []
        for path, weight in named_weights(model).items():
            axis, counted = self.axes.get(path, (0, None))
            if path not in self.weights or (counted and counted not in rows):
                new.append(path)
                continue
            weight.assign(_replace_rows(ops.convert_to_numpy(weight), self.weights[path], axis, rows.get(counted, ALL)))
            taken.append(path)
        vocabularies = {}
        for side, tokenizer in zip(recipe.job.sides, tokenizers, strict=True):
            count, shared = tokenizer.vocab_size, rows.get(side, ((), ()))
            vocabularies[side] = {"pieces": count, "taken": count if shared is ALL else len(shared[0])}
        origin = {"from": recipe.training.init, "sha256": self.initial.digest(), "differences": self.differences}
        return origin | {"taken": taken, "new": new, "vocabularies": vocabularies}

    def _rows(self, recipe, tokenizers):
        """`{side: (new ids, old ids)}` of the pieces that both vocabularies have; `ALL` where they are one."""
        rows = {}
        for side, tokenizer in zip(recipe.job.sides, tokenizers, strict=True):
            old = self.tokenizers.get(side)
            if old is None:
                continue
            places = {piece: number for number, piece in enumerate(old.pieces)}
            pairs = [(number, places[piece]) for number, piece in enumerate(tokenizer.pieces) if piece in places]
            same = old.model_bytes == tokenizer.model_bytes
            rows[side] = ALL if same else tuple(np.array(column) for column in zip(*pairs, strict=True))
        return rows


def _replace_rows(values, others, axis, rows):
    """`values` with some rows of `others` along an axis; `rows` are (places in values, places in others)."""
    if rows is ALL:
        return others
    values, others = np.moveaxis(values, axis, 0).copy(), np.moveaxis(others, axis, 0)
    values[rows[0]] = others[rows[1]]
    return np.moveaxis(values, 0, axis)


def prepare_takeover(recipe, initial):
    """The `Takeover` of a recipe, or None; the recipe's patterns of weights are checked on a model of its kind.

    Raises:
        ValueError: a pattern of `training.freeze`, `training.rates` or `training.layout` matches no weight, a weight
            cannot be split as they say, the initial model has other sizes, or its weights would compute something else.
    """
    own = recipe.training
    if not (initial or own.freeze or own.rates or own.layer_decay < 1 or own.model_parallel > 1):
        return None
    sizes = [ANY_SIZE * own.model_parallel] * (len(recipe.job.sides) + recipe.job.labelled)
    model = build_model(recipe.job, recipe, *sizes)
    shapes = {path: tuple(weight.shape) for path, weight in named_weights(model).items()}
    check_patterns(model, own.layout)
    if initial is None:
        choose_trained(recipe, model)
        rate_factors(recipe, model)
        return None
    old = keras.models.load_model(initial.model, compile=False)
    weights = {path: ops.convert_to_numpy(weight) for path, weight in named_weights(old).items()}
    larger, counted = _make_larger(recipe, sizes)
    axes = _find_axes(shapes, larger, counted)
    old_shapes = {path: array.shape for path, array in weights.items()}
    common = _common_paths(recipe, initial, _fixed_shapes(shapes, axes), _fixed_shapes(old_shapes, axes))
    new_layers = {path.partition("/")[0] for path in shapes} - {path.partition("/")[0] for path in common}
    differences = find_differences(old, model, larger, new_layers)
    if differences and own.init_differences == "refuse":
        raise ValueError(
            f"training.init: the weights of {initial.directory} would compute something else here: "
            f"{_join_differences(differences)}. "
            'Give both the same settings, or take the weights nevertheless with training.init_differences = "allow".'
        )
    tokenizers = {side: load_tokenizer(path) for side, path in initial.tokenizers.items()}
    takeover = Takeover(initial, {path: weights[path] for path in common}, tokenizers, axes, differences)
    choose_trained(recipe, model, takeover)
    rate_factors(recipe, model)
    return takeover


def choose_trained(recipe, model, takeover=None):
    """Give a built model its adapters, and freeze weights, as a recipe says.

    Returns:
        (the paths of the layers with adapters, the paths of the weights that `training.freeze` means).

    Raises:
        ValueError: a pattern means nothing that can have adapters, or be frozen; or nothing is left.
    """
    settings, body = recipe.training, takeover.body(named_weights(model)) if takeover else []
    layers, adapted = settings.lora_layers or ["*"], []
    if settings.lora:
        adapted = adapt(model, settings.lora, layers, body, settings.seed, "training.lora_layers")
    patterns = [pattern for each in settings.freeze for pattern in (body if each == BODY else [each])]
    return adapted, freeze(model, patterns, "training.freeze") if patterns else []


def rate_factors(recipe, model):
    """`{id of a weight: factor}` of its learning rate, by `training.layer_decay` and `training.rates`."""
    by_weight = decay_factors(model, recipe.training.layer_decay) if recipe.training.layer_decay < 1 else {}
    for weight, factor in factors(model, recipe.training.rates, "training.rates").items():
        by_weight[weight] = by_weight.get(weight, 1.0) * factor
    return by_weight


def _make_larger(recipe, sizes):
    """(a second model whose sizes differ, each by its own number; `{number: what it counts}`)."""
    names = [*recipe.job.sides, *([LABELS] if recipe.job.labelled else [])]
    shared = len(recipe.job.sides) == 2 and recipe.text.shared
    steps = [1] * len(sizes) if shared else range(1, 1 + len(sizes))
    larger = build_model(recipe.job, recipe, *(size + step for size, step in zip(sizes, steps, strict=True)))
    return larger, dict(zip(steps, [names[0]] * len(names) if shared else names, strict=True))


def _find_axes(shapes, larger, counted):
    """`{path: (axis, what its length counts)}`."""
    axes = {}
    for path, weight in named_weights(larger).items():
        for axis, (one, other) in enumerate(zip(shapes[path], weight.shape, strict=True)):
            if one != other:
                axes[path] = axis, counted[other - one]
    return axes


def _fixed_shapes(shapes, axes):
    """`{path: shape}` without the axes that count pieces or labels."""
    return {
        path: tuple(size for axis, size in enumerate(shape) if path not in axes or axis != axes[path][0])
        for path, shape in shapes.items()
    }


def _common_paths(recipe, initial, here, there):
    """The paths of the weights that both models have, with the same sizes.

    A layer of another task may be something else under the same name, such as a readout. It is left out if none of its
    weights has the same size.

    Raises:
        ValueError: there are none, or a layer of both models has different sizes.
    """
    common = [path for path in here if path in there]
    wrong = [path for path in common if here[path] != there[path]]
    if recipe.task != initial.recipe.task:
        fitting = {path.partition("/")[0] for path in common if path not in wrong}  # layers
        wrong = [path for path in wrong if path.partition("/")[0] in fitting]
        common = [path for path in common if path.partition("/")[0] in fitting]
    if common and not wrong:
        return common
    settings, others = table.plain(recipe.model), table.plain(initial.recipe.model)
    differ = "; ".join(
        f"model.{name} is {others.get(name)!r} there and {settings.get(name)!r} here"
        for name in settings | others
        if settings.get(name) != others.get(name)
    )
    if not common:
        raise ValueError(
            f"training.init: the model of {initial.directory} has no weight in common with this one. "
            f"{differ or f'Its task is {initial.recipe.task}'}. Name a run of a model that is like this one."
        )
    raise ValueError(
        f"training.init: weights of {initial.directory} have other sizes: "
        f"{_join_first([f'{path} ({there[path]} there, {here[path]} here)' for path in wrong])}. "
        f"{differ or 'Its layers have other settings'}. Give both the same sizes."
    )


def _join_differences(differences):
    return "; ".join(f"{place} is {there} there and {here} here" for place, there, here in differences)


def _join_first(names):
    """The first few of a list, and how many more there are."""
    return ", ".join(names[:FEW]) + (f" and {len(names) - FEW} more" if len(names) > FEW else "")


def describe_takeover(record, same_vocabulary):
    """What was taken, in a line."""
    taken, new = record["taken"], record["new"]
    line = f"{record['from']}: took {len(taken)} of {len(taken) + len(new)} weights"
    line += f"; new are {_join_first(new)}" if new else ""
    if record["differences"]:
        line += f"; they compute something else: {_join_differences(record['differences'])}"
    for side, each in record["vocabularies"].items() if not same_vocabulary else ():
        line += f"; {each['taken']:,} of {each['pieces']:,} {side} pieces are known"
    return line


def find_differences(old, new, larger, without=()):
    """`[(place, there, here)]` of the settings that decide what the weights of `old` compute in `new`.

    They are compared in the models' configs, which have all settings of a layer and of the layers in it, so nothing
    here is specific to a layer. Sizes that count pieces or labels, and settings of the training alone, are left out.

    A place has * instead of numbers, so that a difference of all blocks appears once. A layer that only `new` has, such
    as one more block, is no difference: its weights are new.

    Args:
        old: the model whose weights are taken.
        new: the model that takes them.
        larger: the model `new` with other vocabularies and labels; what differs between these two are sizes.
        without: attributes of the model whose weights are not taken, if it is of another task.
    """
    there, here, other = (dict(_settings(keras.saving.serialize_keras_object(each))) for each in (old, new, larger))
    if there[""] != here[""]:  # of another task: what both have is compared
        shared = {_top_name(place) for place in there} & {_top_name(place) for place in here} - {"", *without}
        there, here = (
            {place: value for place, value in each.items() if _top_name(place) in shared} for each in (there, here)
        )
    differing = {}
    for place in sorted(there.keys() | here.keys()):
        values = there.get(place, NOTHING), here.get(place, NOTHING)
        sized = other.get(place) != here.get(place)
        if values[0] == values[1] or sized or _is_new(place, there, here):
            continue
        if not any(place.startswith(f"{each}.") for each in differing):  # another class has other settings
            differing[place] = values
    return sorted({(re.sub(r"\b\d+\b", "*", place), *map(str, values)) for place, values in differing.items()})


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


def _top_name(place):
    return place.partition(".")[0]


def _is_new(place, there, here):
    """Whether a place lies in an element of a list, such as a block, that only the new model has."""
    names = place.split(".")
    starts = [".".join(names[: end + 1]) for end, name in enumerate(names) if name.isdigit()]
    return any(start in here and start not in there for start in starts)
