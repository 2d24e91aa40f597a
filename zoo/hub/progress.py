"""A progress bar in plain text, on standard error where that is a terminal; nothing elsewhere."""

import sys
import time

WIDTH = 24
PAUSE = 0.1  # seconds between two drawings


class Progress:
    """How much of some files has arrived.

    Args:
        title: what is downloaded.
        total: bytes of all files.
        callback: called as `callback(bytes that are there, total)`; None draws a bar if standard error is a terminal,
            and False shows nothing.
    """

    def __init__(self, title, total, callback=None):
        self.title, self.total = title, total
        self.draws = callback is None and sys.stderr is not None and sys.stderr.isatty()
        self.callback = callback or (self._draw if self.draws else None)
        self.before = self.now = 0  # bytes of the files that are complete, and of the present one
        self.last_drawn = 0.0

    def begin_file(self, size):
        """A function for the next file, of `size` bytes, which takes the number of bytes that are there."""
        self.before, self.now = self.before + self.now, 0

        def report(have):
            self.now = min(have, size)
            if self.callback:
                self.callback(self.before + self.now, self.total)

        return report

    def _draw(self, have, total):
        if time.monotonic() - self.last_drawn < PAUSE and have < total:
            return
        self.last_drawn = time.monotonic()
        full = WIDTH * have // max(1, total)
        bar = "#" * full + "." * (WIDTH - full)
        print(f"\r{self.title} [{bar}] {have / 1e6:.1f} of {total / 1e6:.1f} MB", end="", file=sys.stderr, flush=True)

    def end(self):
        """End the line of the bar."""
        if self.draws and self.last_drawn:
            print(file=sys.stderr)
