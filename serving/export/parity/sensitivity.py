"""How far a model's own results move when its weights are rounded otherwise: what float32 leaves open.

Two correct float32 programs add the same numbers in different orders, so their results differ by rounding. Most models
keep such a difference small. A recurrence whose state amplifies small changes, as that of a trained SimpleRNN does,
makes it large over many steps, in the Keras model as in any exported form. Of such a model a fixed tolerance asks for
more than float32 can give. The fair question is then whether an exported form differs from the Keras model by more than
the Keras model differs from itself.
"""

import contextlib

import numpy as np

from serving.export.parity.reference import expectation

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


def sensitivity(cases, kind, tokenizers, texts):
    """For each case `{output: the largest change}` of its numbers over `DRAWS` of `nudge`.

    A change is absolute for numbers up to 1 and relative for larger ones. A draw does not count for a case whose token
    ids it changes, because the numbers of other tokens are no measure.

    Args:
        cases: the result of `serving.export.parity.reference.expectation`, of which some rows may be left out.
        kind, tokenizers, texts: what it was called with.
    """
    spreads = [{key: 0.0 for key, value in case.outputs.items() if value.dtype.kind == "f"} for case in cases]
    for seed in range(DRAWS):
        with nudge(kind.model, seed):
            results = expectation(kind, tokenizers, texts)
        for case, result, spread in zip(cases, results, spreads, strict=True):
            sides = case.outputs, result.outputs
            pairs = {key: [case.counted(side[key]) for side in sides] for key in case.outputs}
            if all(key in spread or np.array_equal(*pair) for key, pair in pairs.items()):
                for key in spread:
                    one, other = pairs[key]
                    change = np.abs(other - one) / np.maximum(1, np.abs(one))
                    spread[key] = max(spread[key], float(change.max(initial=0.0)))
    return spreads
