"""Losses, metrics, schedules, checkpoints, and the loop that puts them to work."""

from zoo.training.checkpoints import average, load_weights, save_weights
from zoo.training.depth_adaptive import DepthAdaptiveLoss
from zoo.training.loop import Plan, Progress, best_path, checkpoint_path, fit, validate
from zoo.training.losses import ChunkedCrossEntropy, SmoothedCrossEntropy
from zoo.training.metrics import JUDGES, summarise, token_sums
from zoo.training.schedules import (
    ConstantRate,
    CosineDecay,
    InverseSquareRoot,
    LinearDecay,
    schedule,
)
from zoo.training.steps import RowAdam, SpanSteps, make_steps

__all__ = [
    "JUDGES",
    "ChunkedCrossEntropy",
    "ConstantRate",
    "CosineDecay",
    "DepthAdaptiveLoss",
    "InverseSquareRoot",
    "LinearDecay",
    "Plan",
    "Progress",
    "RowAdam",
    "SmoothedCrossEntropy",
    "SpanSteps",
    "average",
    "best_path",
    "checkpoint_path",
    "fit",
    "load_weights",
    "make_steps",
    "save_weights",
    "schedule",
    "summarise",
    "token_sums",
    "validate",
]
