"""Messages before the long pauses of a training: which batch shape is compiled, and how much memory is expected."""

import sys
import time
from typing import Protocol, runtime_checkable

from zoo.core import devices
from zoo.training.steps.shared import model_inputs, shape_of

try:
    import resource
except ImportError:  # not a POSIX system
    resource = None


@runtime_checkable
class KnowsShapes(Protocol):
    """Batches that list all their shapes before they are read."""

    shapes: list


@runtime_checkable
class KnowsLongest(Protocol):
    """Batches that can make one of the longest shape before they are read."""

    def longest(self):
        """Such a batch."""


class Shapes:
    """The batch shapes of a training. For each of them a program is compiled.

    Args:
        steps: the compiled steps, see `zoo.training.make_steps`.
        train: the training batches. They may know all their shapes (`KnowsShapes`), and may make a batch of the
            longest shape (`KnowsLongest`).
    """

    def __init__(self, steps, train):
        self._steps, self._train = steps, train
        self._total = len(train.shapes) if isinstance(train, KnowsShapes) else None
        self._numbers, self._programs, self._current = {}, set(), None

    def describe(self):
        """A message about the longest batch and the memory that its step needs."""
        if not isinstance(self._train, KnowsLongest):
            return "before the first step of each batch shape its program is compiled"
        batch = self._train.longest()
        shapes = {None: "the longest batch shape,", 1: "one batch shape,"}.get(
            self._total, f"{self._total} batch shapes, the longest"
        )
        memory = self._steps.expected_memory(batch)
        return f"{shapes} {format_shapes(batch)}; {describe_memory(memory)}"

    def announce(self, batch, what=""):
        """{"message": ..} if a program has to be compiled for this batch, else {}.

        Args:
            batch: the batch of the next step.
            what: "the validation of " for a validation step, "" for a training step.
        """
        shape, program = (what, shape_of(batch)), (what, self._steps.program_key(batch))
        if program in self._programs:
            return {}
        self._programs.add(program)
        again = ", again because the windows of its spans have changed" if shape in self._numbers else ""
        number = self._numbers.setdefault(shape, 1 + sum(kind == what for kind, _ in self._numbers))
        total = f" of {self._total}" if self._total and not what else ""
        self._current = number, time.monotonic()
        return {"message": f"compiling {what}shape {number}{total}: {format_shapes(batch)}{again}"}

    def describe_first_step(self, loss):
        """{"message": ..} about the first step of the shape that was announced last. Waits until the step is done."""
        number, start = self._current
        value = float(loss)  # waits for the step, so the time is taken after it
        step = f"first step of shape {number} after {time.monotonic() - start:.1f} s, loss {value:.4f}"
        held = devices.memory()
        who, most = ("the device has held", held[1]) if held else ("this process has taken", peak_memory())
        return {"message": f"{step}; {who} {format_bytes(most)} at most"}


def format_shapes(batch):
    """The shapes of a batch's inputs of two or more dimensions, such as "source_ids 64 x 60"."""
    return ", ".join(
        f"{name} {' x '.join(map(str, value.shape))}" for name, value in model_inputs(batch).items() if value.ndim > 1
    )


def describe_memory(memory):
    """The result of `expected_memory` in words."""
    parts = ", ".join(f"{name} {format_bytes(size)}" for name, size in memory.items())
    resident, held = resident_memory(), devices.memory()
    beside = f" beside the {format_bytes(resident)} that the process holds already" if resident else ""
    place = f" of the device's {format_bytes(held[0])}" if held else beside
    return f"expected memory about {format_bytes(sum(memory.values()))}{place} (an estimate: {parts})"


def format_bytes(size):
    """A number of bytes as text, such as "1.9 GB" or "350 MB"."""
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB" if size >= 1e6 else f"{size / 1e3:.0f} kB"


def peak_memory():
    """The largest memory of this process so far, in bytes; 0 if the operating system does not report it."""
    if resource is None:
        return 0
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else 1024 * most


def resident_memory():
    """The memory of this process now, in bytes; 0 if the operating system does not report it."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            pages = int(file.read().split()[1])
        return pages * resource.getpagesize()
    except OSError:
        return 0
