"""Keras: losses, metrics, learning-rate schedules, checkpoints and the training loop."""

from zoo.training.callbacks import Interrupted
from zoo.training.checkpoints import average, get_weights, set_weights
from zoo.training.depth_adaptive import DepthAdaptiveLoss
from zoo.training.loop import checkpoint_path, fit, saved_step, validate
from zoo.training.losses import (
    MONITORS,
    ChunkedCrossEntropy,
    SmoothedCrossEntropy,
    squared_error,
    summarise,
    token_sums,
)
from zoo.training.plan import TrainingPlan, TrainingState
from zoo.training.schedules import (
    ConstantRate,
    CosineDecay,
    InverseSquareRoot,
    LinearDecay,
    schedule,
)
from zoo.training.selection import freeze, named_weights, thaw
from zoo.training.steps import FactorAdam, RowAdam, SpanSteps, make_steps

__all__ = [
    "MONITORS",
    "ChunkedCrossEntropy",
    "ConstantRate",
    "CosineDecay",
    "DepthAdaptiveLoss",
    "FactorAdam",
    "InverseSquareRoot",
    "LinearDecay",
    "Interrupted",
    "RowAdam",
    "SmoothedCrossEntropy",
    "SpanSteps",
    "TrainingPlan",
    "TrainingState",
    "average",
    "checkpoint_path",
    "fit",
    "freeze",
    "get_weights",
    "make_steps",
    "named_weights",
    "saved_step",
    "schedule",
    "set_weights",
    "squared_error",
    "summarise",
    "thaw",
    "token_sums",
    "validate",
]
