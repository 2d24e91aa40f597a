"""The contract battery's laws of sizes: those known without values, and texts that are longer than a window."""

import keras
import numpy as np
from keras import tree

from zoo.check.laws import changed, named, valid

LONG = 67  # longer than the windows, chunks and tables at which a layer may begin to do something else


def check_static(built):
    """Where the batch, the time or both are numbers, what Keras says without values is what comes out."""
    for rows, time in ((((1, 5), (2, 4), (3, 2)), 5), (((1, 3), (2, 1)), 3)):
        arguments = built.case.arguments(rows, time, 0)
        true = [tuple(leaf.shape) for leaf in tree.flatten(built.run(rows, time))]
        for batch in (None, len(rows)):
            specs = {
                name: keras.KerasTensor((batch, *leaf.shape[1:]), leaf.dtype.name)
                for name, leaf in named(arguments).items()
            }
            symbolic = built.case.apply(built.layer, tree.pack_sequence_as(arguments, list(specs.values())))
            for one, shape in zip(tree.flatten(symbolic), true, strict=True):
                fits = len(one.shape) == len(shape) and all(
                    size in (None, real) for size, real in zip(one.shape, shape, strict=True)
                )
                assert fits, f"for inputs of {time} positions without values {one.shape}, with values {shape}"


def longest(traits):
    """`LONG` positions, or as many as the layer says that it takes."""
    bound = vars(traits).get("longest")
    return LONG if bound is None else min(LONG, bound)


def check_long(built, traits, causal=None):
    """Padding changes no valid position of a long text; where `causal` is given, no later position an earlier one."""
    time = longest(traits)
    rows = tuple((seed, max(1, time * share // 8)) for seed, share in ((71, 8), (72, 5), (73, 2)))
    first, other = built.run(rows, time), built.run(rows, time, noise=6)
    for index, (_, length) in enumerate(rows):
        for one, two in zip(valid(other, index, length), valid(first, index, length), strict=True):
            assert not np.any(changed(one, two, -1)), f"in a text of {time} positions padding changes a valid position"
    if causal is None or vars(traits).get("approximate"):  # what hashing finds depends on all positions
        return
    name, run = causal
    x = built.case.arguments(rows, time, 0)[name]
    before = run(x)
    for place in sorted({*range(1, time, 11), 16, 17, 32, 33, 64} & set(range(1, time))):
        after = run(np.concatenate([x[:, :place], -x[:, place:] + 1.0], axis=1))
        earlier = changed(after[:, :place], before[:, :place], (0, 2))
        assert not np.any(earlier), f"position {int(np.argmax(earlier))} of {time} sees position {place} or a later one"
