"""What holds inside a `with` block, for the thread that has opened it: nobody hands it on."""

import contextlib
import threading


class Ambient(threading.local):
    """`value`, None outside of every block."""

    value = None

    @contextlib.contextmanager
    def holding(self, value):
        """A context in which `value` holds; afterwards what held before does."""
        before, self.value = self.value, value
        try:
            yield value
        finally:
            self.value = before
