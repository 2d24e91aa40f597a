"""From a recipe to how its model is trained: optimizer, loss, plan."""

import dataclasses

import keras

from zoo.training import Plan, SmoothedCrossEntropy, schedule


def make_optimizer(recipe):
    """Adam on the recipe's schedule, clipped by the global norm; its weight decay leaves biases and norms alone."""
    rate = schedule(recipe.schedule, recipe.learning_rate, recipe.warmup, recipe.steps)
    optimizer = keras.optimizers.Adam(
        rate,
        beta_2=recipe.adam_beta_2,
        weight_decay=recipe.weight_decay or None,
        global_clipnorm=recipe.clip_norm or None,
    )
    if recipe.weight_decay:
        optimizer.exclude_from_weight_decay(var_names=["bias", "beta", "gamma"])
    return optimizer


def make_loss(recipe):
    """The training loss."""
    return SmoothedCrossEntropy(recipe.label_smoothing)


def make_plan(recipe):
    """How long to train and how often to look."""
    return Plan(
        **{field.name: getattr(recipe, field.name, None) for field in dataclasses.fields(Plan)}
        | {"keep": recipe.average}
    )
