"""The compiled steps of a training, one file for each backend.

`shared` chooses the backend, and holds what both share. `optimizers` has learning rates of single weights, and an Adam
for large tables, which updates only the rows that a step has read. `spans` compiles the steps again when the windows of
adaptive spans have changed. `needs` estimates the memory of a step, and tells whether it lowers for other devices.
"""

from zoo.training.steps.optimizers import FactorAdam, RowAdam
from zoo.training.steps.shared import make_steps, model_inputs
from zoo.training.steps.spans import SpanSteps

__all__ = ["FactorAdam", "RowAdam", "SpanSteps", "make_steps", "model_inputs"]
