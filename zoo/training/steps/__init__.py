"""The compiled steps of a training, one file for each backend.

`make` chooses the backend, and `inputs` is what both backends share. `rows` is the optimizer of large tables, which
updates the rows that a step has read. `spans` compiles steps again where the windows of adaptive spans have changed.
"""

from zoo.training.steps.inputs import model_inputs
from zoo.training.steps.make import make_steps
from zoo.training.steps.rows import RowAdam
from zoo.training.steps.spans import SpanSteps

__all__ = ["RowAdam", "SpanSteps", "make_steps", "model_inputs"]
