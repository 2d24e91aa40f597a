"""Training steps whose cost follows the learned spans of adaptive-span attention."""

from typing import Any

from zoo.core.protocols import Attention, find_declaring
from zoo.training.steps.shared import make_steps


class SpanSteps:
    """The steps of `make_steps`, compiled again whenever the window of a layer with a learned span changes.

    After every `every` updates, the window of each such layer is set to its current span plus `slack`, rounded up to a
    multiple of `multiple`. Until the next adjustment a span may grow by the slack without being cut off. A program is
    compiled for each combination of windows and batch shape, so `multiple` bounds the number of programs.

    Args:
        model, optimizer, loss, parts: as of `make_steps`.
        every: updates between two adjustments of the windows.
        multiple: the windows are multiples of this number; the authors' is 64.
        slack: positions that are added to a span.

    Raises:
        ValueError: the model has no adaptive span, or a number is not positive.

    Example:
        >>> import keras
        >>> from zoo.attention import AdaptiveSpanAttention
        >>> from zoo.blocks import PreNorm
        >>> from zoo.depth import Stack
        >>> from zoo.feedforward import FeedForward
        >>> from zoo.models import LanguageModel
        >>> from zoo.training import SpanSteps
        >>> from zoo.training import SmoothedCrossEntropy
        >>> block = PreNorm(AdaptiveSpanAttention(8, 2, max_span=256, ramp=8), FeedForward(8, 8))
        >>> model = LanguageModel(11, Stack([block]))
        >>> model.build()
        >>> SpanSteps(model, keras.optimizers.Adam(1e-3), SmoothedCrossEntropy(), multiple=16).windows
        [16]

    Reference: https://arxiv.org/abs/1905.07799, section 3 and the authors' code (trimming in steps of 64).
    """

    def __init__(
        self,
        model: Any,
        optimizer: Any,
        loss: Any,
        parts: int = 1,
        every: int = 100,
        multiple: int = 64,
        slack: int = 8,
    ) -> None:
        layers = [layer for layer in find_declaring(model, Attention) if layer.traits.trims]
        if not layers or min(every, multiple, slack + 1) < 1:
            raise ValueError(
                "SpanSteps needs a model with an AdaptiveSpanAttention and positive numbers. Received: "
                f"{len(layers)} such layers, every={every!r}, multiple={multiple!r}, slack={slack!r}."
            )
        self.model, self.optimizer = model, optimizer
        self._loss, self._parts, self._layers, self._every = loss, parts, layers, every
        self._rounding = multiple, slack
        self._updates, self._earlier_programs = 0, 0
        self._trim()
        self._steps = make_steps(model, optimizer, loss, parts)

    @property
    def windows(self):
        """How many positions back each layer reads at present."""
        return [layer.width for layer in self._layers]

    def _trim(self):
        before = self.windows
        for layer in self._layers:
            layer.trim(*self._rounding)
        return self.windows != before

    def _retrace(self):
        self._earlier_programs += self._steps.num_programs
        self._steps = make_steps(self.model, self.optimizer, self._loss, self._parts)

    def train(self, batch):
        loss = self._steps.train(batch)
        self._updates += 1
        if self._updates % self._every == 0:
            self._steps.sync()
            if self._trim():
                self._retrace()
        return loss

    def evaluate(self, batch):
        return self._steps.evaluate(batch)

    def learning_rate(self):
        return self._steps.learning_rate()

    def sync(self):
        self._steps.sync()

    def reload(self):
        """See `make_steps`. The spans may have changed, too, so the windows are adjusted."""
        if self._trim():
            self._retrace()
        else:
            self._steps.reload()

    def expected_memory(self, batch):
        return self._steps.expected_memory(batch)

    def programs(self, batch):
        return self._steps.programs(batch)

    def program_key(self, batch):
        return (*self._steps.program_key(batch), *self.windows)

    @property
    def num_programs(self):
        return self._earlier_programs + self._steps.num_programs
