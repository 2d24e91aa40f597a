"""Texts that are longer than a model has positions for: told before the first step, and before the first answer."""

import keras

from zoo.core.protocols import Attention, Positions, declaring
from zoo.settings import table
from zoo.training.steps import model_inputs


def bound(model):
    """The most tokens of a text that a model takes, as its layers declare it; None where there is no bound."""
    bounds = (layer.traits.longest for layer in declaring(model, Attention, Positions))
    return min((each for each in bounds if each), default=None)


def check(recipe, model, batches):
    """Refuse batches that a built model cannot read.

    Args:
        recipe: the recipe.
        model: its model.
        batches: `{name: batches}`, such as the training's and the validation's.

    Raises:
        ValueError: which texts are too long, and what to set.
    """
    most = bound(model)
    for name, each in batches.items():
        width = max(each.shapes[-1])
        if most and width > most and not _reads(model, each.longest()):
            raise ValueError(
                f"the {name} has texts of up to {width} tokens, and the model has positions for {most}. Set "
                f"{_setting(recipe)} to {width} or more, {_shorter(recipe, name)}."
            )


def check_written(recipe, model):
    """Refuse a search for outputs that are longer than the model can write.

    Raises:
        ValueError: what to set.
    """
    most, asked = bound(model), recipe.search.max_output_length if recipe.search else 0
    if most and len(recipe.job.sides) == 2 and asked > most:
        raise ValueError(
            f"search.max_output_length={asked} is more than the {most} positions of the model, so no output could be "
            f"searched for. Set it to {most} or less, or {_setting(recipe)} to {asked} or more."
        )


def notes(recipe, model):
    """What is told of a model that continues texts, and has positions for fewer tokens than are asked for."""
    most = bound(model) if recipe.search and len(recipe.job.sides) == 1 else None
    room = most and most - model.longest_prompt if most and model.longest_prompt else most
    if room and recipe.search.max_output_length > room:
        yield (
            f"continuations have at most {room} of the {recipe.search.max_output_length} tokens of "
            f"search.max_output_length: the model has positions for {most}, and reads up to {most - room} of a prompt"
        )


def _reads(model, batch):
    """Whether the model can be called with such a batch, which nothing is computed for."""
    given = {name: keras.KerasTensor(each.shape, str(each.dtype)) for name, each in model_inputs(batch).items()}
    try:
        model(given)
    except ValueError:
        return False
    return True


def _shorter(recipe, name):
    """How the texts become shorter."""
    ways = ["leave longer texts out with training.max_length"] * (name == "training")
    ways += ["read their beginnings with text.max_input_length"] * (
        "max_input_length" in table.fields(type(recipe.text))
    )
    return " or ".join(["", *ways]).strip() or f"or shorten the texts of the {name}"


def _setting(recipe):
    """The setting that says how many positions there are."""
    for slot, name in (("positions", "max_positions"), ("attention", "max_time")):
        own = getattr(recipe, slot)
        if own is not None and name in table.fields(type(own)):
            return f"{slot}.{name}"
    return "model.context"
