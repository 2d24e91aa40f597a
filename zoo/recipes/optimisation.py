"""From a recipe to how its model is trained: optimizer, loss, plan."""

import dataclasses

import keras
from msgspec import structs

from zoo.settings.layers import AdaptiveSpan, ProductKey
from zoo.settings.training import DepthLoss, TokenLoss
from zoo.training import (
    ChunkedCrossEntropy,
    DepthAdaptiveLoss,
    FactorAdam,
    RowAdam,
    SmoothedCrossEntropy,
    SpanSteps,
    TrainingPlan,
    make_steps,
    schedule,
)
from zoo.training.selection import factors


def make_optimizer(recipe):
    """Adam on the recipe's schedule, clipped by the global norm; its weight decay leaves biases and norms alone.

    Gradients in float16 are scaled, so that small ones are not lost.

    The values of a product-key memory are updated where they were read, at a rate of their own (`RowAdam`). Factors of
    the rates of single weights are set where the weights are known (`make_training_steps`).
    """
    own = recipe.training
    rate = schedule(own.schedule, own.learning_rate, own.warmup, own.steps)
    settings = {
        "beta_2": own.adam_beta_2,
        "weight_decay": own.weight_decay or None,
        "global_clipnorm": own.clip_norm or None,
    }
    if own.ema:
        settings |= {"use_ema": True, "ema_momentum": own.ema}
    if isinstance(recipe.feedforward, ProductKey):
        optimizer = RowAdam(rate, row_learning_rate=own.row_learning_rate, **settings)
    else:
        optimizer = (FactorAdam if own.rates else keras.optimizers.Adam)(rate, **settings)
    if own.weight_decay:
        optimizer.exclude_from_weight_decay(var_names=["bias", "beta", "gamma"])
    return keras.optimizers.LossScaleOptimizer(optimizer) if own.precision == "mixed_float16" else optimizer


def make_loss(recipe):
    """The training loss."""
    own = recipe.loss
    if isinstance(own, DepthLoss):
        exits = {name: getattr(own, name) for name in ("oracle", "price", "width", "alpha")}
        return DepthAdaptiveLoss(**exits, smoothing=own.label_smoothing)
    if isinstance(own, TokenLoss) and own.chunks > 1:
        return ChunkedCrossEntropy(own.chunks, own.label_smoothing)
    return SmoothedCrossEntropy(own.label_smoothing)


def make_training_steps(recipe, model):
    """What `zoo.training.make_steps` gives; with adaptive spans, steps that compute no more than those reach."""
    adaptive = isinstance(recipe.attention, AdaptiveSpan)
    optimizer = make_optimizer(recipe)
    steps = (SpanSteps if adaptive else make_steps)(model, optimizer, make_loss(recipe), recipe.training.parts)
    if recipe.training.rates:
        inner = optimizer.inner_optimizer if recipe.training.precision == "mixed_float16" else optimizer
        inner.set_factors(factors(model, recipe.training.rates, "training.rates"))
    return steps


def make_plan(recipe):
    """How long to train and how often to look."""
    known = structs.asdict(recipe.training) | {"keep": recipe.training.average}
    return TrainingPlan(**{field.name: known[field.name] for field in dataclasses.fields(TrainingPlan)})
