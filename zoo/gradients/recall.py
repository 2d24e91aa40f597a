"""Discrete choices, such as hash buckets, that must stay the same when a pass is computed again.

A layer wraps such a choice in `recall`. Where its pass is computed twice, the first pass writes a record and the second
reads it, so that rounding cannot send a vector to another bucket. Everywhere else `recall` only computes.
"""

import contextlib
import threading


class _Active(threading.local):
    """Of this thread: what answers a recalled choice, if anything does."""

    answer = None


_active = _Active()


def recall(compute):
    """`compute()`, or what it gave in the pass that is being repeated."""
    answer = _active.answer
    return compute() if answer is None else answer(compute)


@contextlib.contextmanager
def _answering(answer):
    before = _active.answer
    _active.answer = answer
    try:
        yield
    finally:
        _active.answer = before


def recording(record):
    """While open, every recalled choice is appended to the list `record`; inside a replay it comes from there."""
    outer = _active.answer

    def answer(compute):
        record.append(compute() if outer is None else outer(compute))
        return record[-1]

    return _answering(answer)


def replaying(record):
    """While open, recalled choices are those of `record`, in their order."""
    choices = iter(record)
    return _answering(lambda compute: next(choices))
