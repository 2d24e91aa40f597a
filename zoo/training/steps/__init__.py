"""The compiled steps of a training, one file for each backend.

`make` chooses the backend, and `inputs` holds what both backends share. `rates` has learning rates of single weights.
`rows` is an optimizer for large tables, which updates only the rows that a step has read. `spans` compiles the steps
again when the windows of adaptive spans have changed. `memory` estimates the memory of a step.
"""

from zoo.training.steps.inputs import model_inputs
from zoo.training.steps.make import make_steps
from zoo.training.steps.rates import FactorAdam
from zoo.training.steps.rows import RowAdam
from zoo.training.steps.spans import SpanSteps

__all__ = ["FactorAdam", "RowAdam", "SpanSteps", "make_steps", "model_inputs"]
