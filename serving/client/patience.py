"""How long a request may take, how often it is tried, and how it is ended early."""

import random
import threading
import time
from contextlib import contextmanager

from serving.client.errors import DeadlineError, UnavailableError

FIRST, MOST = 0.1, 5.0  # seconds before the second try, and before any


class Deadline:
    """A moment by which an answer is to be there.

    Args:
        seconds: from now; None is never.
    """

    def __init__(self, seconds):
        self.seconds, self._begun = seconds, time.monotonic()

    @property
    def left(self):
        """Seconds that are left, at least 0; None without a bound."""
        return None if self.seconds is None else max(0.0, self._begun + self.seconds - time.monotonic())

    def check(self, where):
        """Check that time is left.

        Raises:
            DeadlineError: none is.
        """
        if self.left == 0:
            raise DeadlineError(f"{where} did not answer within {self.seconds:g} seconds.")


class Cancellation:
    """Ends requests early: whoever works on one registers a function that breaks it off."""

    def __init__(self):
        self.cancelled = threading.Event()
        self._lock, self._ends = threading.Lock(), set()

    def cancel(self):
        """Break off what is under way, and everything after it."""
        with self._lock:
            self.cancelled.set()
            ends = list(self._ends)
        for end in ends:
            end()

    @contextmanager
    def on_cancel(self, end):
        """A context in which `cancel` calls `end`."""
        with self._lock:
            self._ends.add(end)
        try:
            if self.cancelled.is_set():
                end()
            yield
        finally:
            with self._lock:
                self._ends.discard(end)


def draw_pauses(tries, rng=random):
    """The seconds to wait before each further try: up to 0.1, 0.2, 0.4, ..., 5, a random part of it.

    The part is random so that clients whom a server has sent away together do not come back together.
    """
    most = FIRST
    for _ in range(tries - 1):
        yield rng.uniform(0.5, 1.0) * most
        most = min(MOST, 2 * most)


def retry(request, deadline, tries, cancellation, rng=random):
    """The answer of `request()`, which is called again if the server is unavailable, and for no other reason.

    Args:
        request: a function without arguments.
        deadline: `Deadline` of all tries together.
        tries: how often it is called at most.
        cancellation: `Cancellation`.
        rng: a source of random numbers, with `uniform`.

    Raises:
        UnavailableError: the last try failed so, or the next one would begin after the deadline.
    """
    pauses, count = draw_pauses(tries, rng), 1
    while True:
        try:
            return request()
        except UnavailableError as error:
            pause = next(pauses, None)
            if pause is not None:
                pause = max(pause, error.after)
            late = pause is not None and deadline.left is not None and pause >= deadline.left
            if pause is None or late or cancellation.cancelled.wait(pause) or deadline.left == 0:
                times = f"{count} times" if count > 1 else "once"
                raise UnavailableError(f"{error} (tried {times})") from error
            count += 1
