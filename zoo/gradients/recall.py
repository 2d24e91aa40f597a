"""Discrete choices, such as hash buckets, that must stay the same when a pass is computed again.

A layer wraps such a choice in `recall`. Where its pass is computed twice, the first pass writes a record and the second
reads it, so that rounding cannot send a vector to another bucket. Everywhere else `recall` only computes.
"""

from zoo.gradients.ambient import Ambient

_answer = Ambient()  # what answers a recalled choice, if anything does


def recall(compute):
    """`compute()`, or what it gave in the pass that is being repeated."""
    answer = _answer.value
    return compute() if answer is None else answer(compute)


def recording(record):
    """While open, every recalled choice is appended to the list `record`; inside a replay it comes from there."""
    outer = _answer.value

    def answer(compute):
        record.append(compute() if outer is None else outer(compute))
        return record[-1]

    return _answer.holding(answer)


def replaying(record):
    """While open, recalled choices are those of `record`, in their order."""
    choices = iter(record)
    return _answer.holding(lambda compute: next(choices))
