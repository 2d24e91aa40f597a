"""What a training says before it is silent for long: the shapes that it compiles, and the memory that it expects."""

import sys
import time

from zoo.training.steps.inputs import model_inputs, shape_of


class Shapes:
    """The batch shapes of one training, each of which has a program of its own.

    Args:
        steps: the compiled steps, see `zoo.training.make_steps`.
        train: the training batches; `shapes` (all of them) and `longest()` (a batch of the longest) are used if there.
    """

    def __init__(self, steps, train):
        self._steps, self._train = steps, train
        self._total = len(train.shapes) if hasattr(train, "shapes") else None
        self._seen, self._programs, self._current = {}, set(), None

    def describe(self):
        """One sentence about the longest batch and the memory that its step needs."""
        if not hasattr(self._train, "longest"):
            return "the first step of each batch shape is compiled first"
        batch = self._train.longest()
        shapes = f"{self._total} batch shapes, the longest" if self._total > 1 else "one batch shape,"
        memory = self._steps.expected_memory(batch)
        return f"{shapes} {spelt(batch)}; {described(memory)}"

    def announce(self, batch, what=""):
        """{"message": ..} if a program has to be compiled for this batch, else {}.

        Args:
            what: what is compiled, such as "the validation of "; nothing for the training step.
        """
        shape, program = (what, shape_of(batch)), (what, self._steps.program_key(batch))
        if program in self._programs:
            return {}
        self._programs.add(program)
        again = ", again because the windows of its spans have changed" if shape in self._seen else ""
        number = self._seen.setdefault(shape, 1 + sum(known == what for known, _ in self._seen))
        total = f" of {self._total}" if self._total and not what else ""
        self._current = number, time.monotonic()
        return {"message": f"compiling {what}shape {number}{total}: {spelt(batch)}{again}"}

    def compiled(self, loss):
        """{"message": ..} of the first step of the shape announced last; waits until the step is done."""
        number, start = self._current
        value = float(loss)
        took = f"first step of shape {number} after {time.monotonic() - start:.1f} s, loss {value:.4f}"
        return {"message": f"{took}; this process has taken {in_words(peak())} at most"}


def spelt(batch):
    """The two-dimensional inputs of a batch, such as "source_ids 64 x 60"."""
    return ", ".join(
        f"{name} {' x '.join(map(str, value.shape))}" for name, value in model_inputs(batch).items() if value.ndim > 1
    )


def described(memory):
    """One phrase of what `expected_memory` gives."""
    parts = ", ".join(f"{name} {in_words(size)}" for name, size in memory.items())
    held = resident()
    beside = f" beside the {in_words(held)} that the process holds already" if held else ""
    return f"expected memory about {in_words(sum(memory.values()))}{beside} (an estimate: {parts})"


def in_words(size):
    """A number of bytes for a reader: "1.9 GB", "350 MB"."""
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB" if size >= 1e6 else f"{size / 1e3:.0f} kB"


def peak():
    """The most bytes of memory that this process has held so far; 0 where the system does not say."""
    try:
        import resource
    except ImportError:  # not a POSIX system
        return 0
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else 1024 * most


def resident():
    """The bytes of memory that this process holds now; 0 where the system does not say."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            pages = int(file.read().split()[1])
        import resource

        return pages * resource.getpagesize()
    except (ImportError, OSError):
        return 0
