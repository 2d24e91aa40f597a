"""How far a model's own results move when its weights are rounded otherwise: what float32 leaves open.

Two correct float32 programs add the same numbers in different orders, so their results differ by rounding. Most models
keep such a difference small. A recurrence whose state amplifies small changes, as that of a trained SimpleRNN does,
makes it large over many steps, in the Keras model as in any exported form. Of such a model a fixed tolerance asks for
more than float32 can give. The fair question is then whether an exported form differs from the Keras model by more than
the Keras model differs from itself.
"""

import contextlib

import numpy as np

from serving.export.parity.reference import expectation, without

DRAWS = 3


@contextlib.contextmanager
def nudge(model, seed, steps=1):
    """A context in which each float32 weight is so many float32 larger or smaller, by a seeded coin."""
    rng = np.random.default_rng(seed)
    before = model.get_weights()
    model.set_weights([_move(values, rng, steps) if values.dtype == "float32" else values for values in before])
    try:
        yield model
    finally:
        model.set_weights(before)


def _move(values, rng, steps):
    goal = np.where(rng.integers(0, 2, values.shape), np.inf, -np.inf)
    for _ in range(steps):
        values = np.nextafter(values, goal, dtype="float32")
    return values


def sensitivity(expected, kind, tokenizers, texts, left_out=None):
    """`{number/name/spread/output: the largest change}` of the numbers in `expected`, over `DRAWS` of `nudge`.

    A change is absolute for numbers up to 1 and relative for larger ones. A draw does not count for a case whose inputs
    or token ids it changes, because the numbers of other tokens are no measure.

    Args:
        expected: the result of `serving.export.parity.reference.expectation`.
        kind, tokenizers, texts: what it was called with.
        left_out: the rows that `expected` was made `without`.
    """
    spreads = {path.replace("/out/", "/spread/"): 0.0 for path, value in expected.items() if _is_number(path, value)}
    for seed in range(DRAWS):
        with nudge(kind.model, seed):
            results = without(expectation(kind, tokenizers, texts), left_out or {})
        others = {_case(path) for path, value in expected.items() if not _is_number(path, value)}
        others -= {_case(path) for path, value in expected.items() if _differs(path, value, results)}
        for path, value in expected.items():
            if _is_number(path, value) and _case(path) in others and results[path].shape == value.shape:
                change = np.abs(results[path] - value) / np.maximum(1, np.abs(value))
                spread = path.replace("/out/", "/spread/")
                spreads[spread] = max(spreads[spread], float(change.max(initial=0.0)))
    return {path: np.float32(value) for path, value in spreads.items()}


def _case(path):
    number, name, _, _ = path.split("/")
    return number, name


def _is_number(path, value):
    return "/out/" in path and value.dtype.kind == "f"


def _differs(path, value, results):
    return not _is_number(path, value) and not np.array_equal(value, results.get(path))
