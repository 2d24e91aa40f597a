"""Runs of graphs that another thread may end."""

import contextlib
from contextvars import ContextVar

import onnxruntime

SHRINK = "memory.enable_memory_arena_shrinkage", "cpu:0"  # after a run, what it needed is given back
FATAL = 4  # of ONNX Runtime's log, so that it says nothing on standard error of a run that is ended


class Stop:
    """Ends the runs of graphs that a thread begins while it is within `over`, at once, between two of their operators.

    The caller must bound how many graphs run at once.

    Args:
        shrink: whether memory is given back after each run, which takes time: for runs that may need much of it, and
            are rare.
    """

    def __init__(self, shrink=False):
        self.options = onnxruntime.RunOptions()
        self.options.log_severity_level = FATAL
        if shrink:
            self.options.add_run_config_entry(*SHRINK)

    @property
    def is_ended(self):
        """Whether `end` was called."""
        return self.options.terminate

    def end(self):
        """End what runs; whatever would begin later ends as well. Any thread may call this."""
        self.options.terminate = True

    @contextlib.contextmanager
    def over(self):
        """A context in which this thread's runs may be ended."""
        token = _CURRENT.set(self)
        try:
            yield
        finally:
            _CURRENT.reset(token)


def current():
    """The `Stop` of this thread, or None."""
    return _CURRENT.get()


_CURRENT = ContextVar("stop", default=None)
