"""From a recipe to how its model is trained: optimizer, loss, plan."""

import dataclasses

import keras

from zoo.training import (
    ChunkedCrossEntropy,
    DepthAdaptiveLoss,
    RowAdam,
    SmoothedCrossEntropy,
    SpanSteps,
    TrainingPlan,
    make_steps,
    schedule,
)


def make_optimizer(recipe):
    """Adam on the recipe's schedule, clipped by the global norm; its weight decay leaves biases and norms alone.

    The values of a product-key memory are updated where they were read, at a rate of their own (`RowAdam`).
    """
    rate = schedule(recipe.schedule, recipe.learning_rate, recipe.warmup, recipe.steps)
    settings = {
        "beta_2": recipe.adam_beta_2,
        "weight_decay": recipe.weight_decay or None,
        "global_clipnorm": recipe.clip_norm or None,
    }
    if recipe.feedforward["layer"] == "product_key":
        optimizer = RowAdam(rate, row_learning_rate=recipe.row_learning_rate, **settings)
    else:
        optimizer = keras.optimizers.Adam(rate, **settings)
    if recipe.weight_decay:
        optimizer.exclude_from_weight_decay(var_names=["bias", "beta", "gamma"])
    return optimizer


def make_loss(recipe):
    """The training loss."""
    if recipe.depth["layer"] == "depth_adaptive":
        if recipe.loss_chunks > 1:
            raise ValueError(
                f"recipe {recipe.name!r}: a depth_adaptive decoder needs the logits of all its depths at once; "
                f"received loss_chunks={recipe.loss_chunks}. Set it to 1."
            )
        own = {name: recipe.depth[name] for name in ("oracle", "price", "width", "alpha") if name in recipe.depth}
        return DepthAdaptiveLoss(**own, smoothing=recipe.label_smoothing)
    if recipe.loss_chunks > 1:
        return ChunkedCrossEntropy(recipe.loss_chunks, recipe.label_smoothing)
    return SmoothedCrossEntropy(recipe.label_smoothing)


def make_training_steps(recipe, model):
    """What `zoo.training.make_steps` gives; with adaptive spans, steps that compute no more than those reach."""
    adaptive = recipe.attention["layer"] == "adaptive_span"
    return (SpanSteps if adaptive else make_steps)(model, make_optimizer(recipe), make_loss(recipe))


def make_plan(recipe):
    """How long to train and how often to look."""
    return TrainingPlan(
        **{field.name: getattr(recipe, field.name, None) for field in dataclasses.fields(TrainingPlan)}
        | {"keep": recipe.average}
    )
